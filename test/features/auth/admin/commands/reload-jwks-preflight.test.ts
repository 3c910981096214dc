/** The preflight of an edit with a new issuer's keys. Its repetitions: `reloader-preflight.test.ts`. */
import { expect, test } from 'vitest'
import type { LoadedConfig } from '../../../../../src/core/config/load/load.ts'
import { preflightIssuers } from '../../../../../src/features/auth/tokens/preflight.ts'
import { parse, sandbox } from '../../../../core/config/helper.ts'
import { bootLiveGateway, fetchAdmin } from '../../../../helpers/live-gateway.ts'
import { audience, issuer, jwks, signingKey, signToken } from '../../../../helpers/tokens.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

const key = signingKey('ES256', 'one')

// Nothing listens on a port that no system gives away.
const nowhere = 'http://127.0.0.1:1/jwks'

const configured = (parts: object): LoadedConfig => {
  const loaded = parse(`${sandbox}\n${JSON.stringify(parts).slice(1, -1)}`.replace(/\n"(\w+)":/, '\n$1: '))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}
const clients = (url: string, more: object = {}) =>
  configured({ auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: url, ...more } } })
const operators = (url: string) =>
  configured({
    admin: {
      jwt: { issuer, audience: ['admin'], jwks: url, nameClaim: 'sub', scopeClaim: 'groups', scopes: { x: 'read' } },
    },
  })
const tryKeys = (running: LoadedConfig, next: LoadedConfig) =>
  preflightIssuers(running.config, next.config, next.provenance, 'gateway.yaml')

/** Opens an issuer that responds so. */
const issuerOf = (status: number, text: string) =>
  httpUpstream((_, response) => void response.writeHead(status).end(text))

const message = 'the issuer’s keys of this edit cannot be fetched, so every token would get 503'
const none = configured({ log: { level: 'warn' } })

test.each<[string, number, string, object, string]>([
  ['responds with 404', 404, '', {}, 'it responded with 404'],
  ['is no JSON', 200, '<html>', {}, 'it is not JSON'],
  ['is empty', 200, jwks(), {}, 'it holds no key for PS256, ES256, EdDSA, Ed25519'],
  ['is for others', 200, jwks(key), { algorithms: ['EdDSA'] }, 'it holds no key for EdDSA'],
])('an edit that adds a URL without keys is held back: what is there %s', async (_, status, text, more, reason) => {
  const { url } = await issuerOf(status, text)

  expect(await tryKeys(none, clients(`${url}/jwks?key=hidden`, more))).toMatchObject([
    { path: 'auth.jwt.jwks', line: 2, message, found: `${url}/jwks ${reason}` },
  ])
})

test('so is one where no server listens, also as a change from keys that are there, of operators as well', async () => {
  const problem = { path: 'auth.jwt.jwks', found: expect.stringContaining('ECONNREFUSED') }

  expect(await tryKeys(none, clients(nowhere))).toMatchObject([problem])
  expect(await tryKeys(clients('https://login.example/jwks'), clients(nowhere))).toMatchObject([problem])
  expect(await tryKeys(none, operators(nowhere))).toMatchObject([{ path: 'admin.jwt.jwks', message }])
})

test('keys are not asked for where they are there, or where the edit leaves their URL as it is', async () => {
  const { url, requests } = await issuerOf(200, jwks(key))

  expect(await tryKeys(none, clients(url))).toEqual([])
  expect(await tryKeys(clients(nowhere), clients(nowhere, { audience: [audience, 'https://other.example'] }))).toEqual(
    [],
  )
  expect(requests).toHaveLength(1)
})

test('on the wire, what ran runs on while the edit is held back, which takes effect once the keys are there', async () => {
  const reply = { status: 503, text: '' }
  const { url } = await httpUpstream((_, response) => void response.writeHead(reply.status).end(reply.text))
  const reload = { watch: false, preflight: 'connect' }
  const live = await bootLiveGateway({ reload })
  const { hash } = live.gateway.config
  live.edit({
    auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: `${url}/jwks` } },
    clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
    reload,
  })
  const ask = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${live.url}/market/insights`, { headers })).status
  const shown = { authorization: `Bearer ${signToken(key)}` }

  const { status, body } = await fetchAdmin(`${live.admin}/reload`, 'POST')
  const meanwhile = await ask(shown)
  Object.assign(reply, { status: 200, text: jwks(key) })
  const applied = await live.line(({ msg }) => msg === 'configuration applied')

  expect(status).toBe(422)
  expect(body).toMatchObject({ code: 'endpoints-not-reached', hash, nextTry: expect.stringMatching(/Z$/) })
  expect(applied).toMatchObject({ trigger: 'preflight' })
  expect([meanwhile, await ask(shown), await ask({})]).toEqual([200, 200, 401])
})
