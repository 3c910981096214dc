import { expect, test } from 'vitest'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { requestWithFields } from '../../../helpers/token-binding.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const key = signingKey('ES256', 'issuer')
const bankA = { id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }

const settings = (url: string, { jwt = {}, introspection = {}, ...auth }: Record<string, object | string> = {}) => ({
  auth: {
    methods: ['jwt', 'introspection'],
    jwt: { issuer, audience: [audience], jwks: jwks(key), ...(jwt as object) },
    introspection: { url, clientId: 'gateway', clientSecret: 'secret', ...(introspection as object) },
    ...auth,
  },
  clients: [bankA],
})

// The attack: a client that has lost its entitlement presents a token that is cached as valid.
test.each<readonly [string, Settings, number]>([
  ['is removed', { clients: [] }, 403],
  ['needs a scope', { operations: { 'market.insights': { auth: { scopes: ['insights.read'] } } } }, 403],
  ['needs a bound token', { listen: { publicUrl: 'https://a.example' }, auth: { bound: 'required', dpop: {} } }, 401],
  ['is asked for another audience', { auth: { jwt: { audience: ['b'] }, introspection: { audience: ['b'] } } }, 401],
])('a token that is known is worth no more than its client, who %s', async (_, { auth, ...next }, status) => {
  const { url } = await httpUpstream((_request, response) =>
    response.end(JSON.stringify({ active: true, ...claims() })),
  )
  const live = await bootLiveGateway(settings(url))
  const { port } = live.gateway.address
  const tokens = [signToken(key), 'opaque']
  const ask = () => Promise.all(tokens.map((each) => requestWithFields(port, [`Authorization: Bearer ${each}`])))
  const before = [...(await ask()), ...(await ask())]

  live.edit({ ...settings(url, auth as Record<string, object>), ...next })
  expect(await live.gateway.reload('request')).toMatchObject({ result: 'applied' })

  expect([before, await ask()]).toEqual([new Array(4).fill(200), [status, status]])
})
