import { expect, test } from 'vitest'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { requestWithFields } from '../../../helpers/token-binding.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const key = signingKey('ES256', 'issuer')
const bankA = { id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }

// The attack: a token that was good is remembered as such. A client that has lost its entitlement presents it again.
test.each<readonly [string, Settings, number]>([
  ['is removed', { clients: [] }, 403],
  ['needs a scope', { operations: { 'market.insights': { auth: { scopes: ['insights.read'] } } } }, 403],
  [
    'needs a bound token',
    { listen: { publicUrl: 'https://gateway.example' }, auth: { bound: 'required', dpop: {} } },
    401,
  ],
  ['is asked for another audience', { auth: { jwt: { audience: ['b'] }, introspection: { audience: ['b'] } } }, 401],
])('a token that is known is worth no more than its client, who %s', async (_, { auth = {}, ...next }, status) => {
  const server = await httpUpstream((_request, response) => response.end(JSON.stringify({ active: true, ...claims() })))
  const upstream = await httpUpstream()
  const settings = ({
    jwt = {},
    introspection = {},
    ...rest
  }: {
    jwt?: object
    introspection?: object
  } = {}): Settings => ({
    upstream: upstream.url,
    auth: {
      methods: ['jwt', 'introspection'],
      jwt: { issuer, audience: [audience], jwks: jwks(key), ...jwt },
      introspection: { url: server.url, clientId: 'gateway', clientSecret: 'secret', ...introspection },
      ...rest,
    },
    clients: [bankA],
  })
  const live = await bootLiveGateway(settings())
  const good = signToken(key)
  const ask = (): Promise<readonly number[]> =>
    Promise.all(
      [good, 'opaque'].map((each) => requestWithFields(live.gateway.address.port, [`Authorization: Bearer ${each}`])),
    )
  expect([await ask(), await ask()]).toEqual([
    [200, 200],
    [200, 200],
  ])

  live.edit({ ...settings(auth), ...next })
  expect(await live.gateway.reload('request')).toMatchObject({ result: 'applied' })

  expect(await ask()).toEqual([status, status])
})
