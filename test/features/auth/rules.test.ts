import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { diffConfigs } from '../../../src/core/config/diff/diff-reports.ts'
import { renderEffectiveConfig } from '../../../src/core/config/diff/report.ts'
import type { LoadedConfig } from '../../../src/core/config/load/load.ts'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { findProblems, folderWith, parse, sandbox, validConfig } from '../../core/config/helper.ts'
import { jwks, signingKey } from '../../helpers/tokens.ts'

const sha = 'ab'.repeat(32)
const key = (id: string) => `apiKeys: [{ id: ${id}, sha256: ${sha} }]`
const client = (id: string, more: string) => `{ id: ${id}, operations: all, ${more} }`
const jwt = (jwks = 'https://login.example/keys') => `jwt: { issuer: a, audience: [b], jwks: '${jwks}' }`
const introspection = "introspection: { url: 'https://login.example/', clientId: a, clientSecret: planted-secret }"
const insights = (auth: string) => `operations: { market.insights: { auth: ${auth} } }`
const apiKey = (more = '') => `auth: { methods: [apiKey]${more} }`
const byJwt = (jwks: string) => `auth: { methods: [jwt], ${jwt(jwks)} }`

const taken = 'this field is already used by another setting'
const two = (one: string, other: string) => `clients: [${one}, ${other}]`
const inField = (field: string) => apiKey(`, identityField: ${field}`)
const proofs = `listen: { publicUrl: 'https://a.example' }\nrequestId: { header: dpop }`
const proxied = 'listen: { trustedProxies: [127.0.0.1] }'

test.each([
  [two(client('a', key('k1')), client('a', key('k2'))), 'clients[1].id', 'a second client with this id'],
  [two(client('a', key('k')), client('b', key('k'))), 'clients[1].apiKeys[0].id', 'a second key with this id'],
  [
    two(client('a', 'claims: { iss: i, sub: s }'), client('b', 'claims: { sub: s, iss: i }')),
    ...['clients[1].claims', 'a second client with these claims'],
  ],
  [
    `clients: [${client('a', key('k'))}]`,
    'clients',
    'this cannot be enforced: without auth, clients are not identified',
  ],
  [`clients: [${client('a', 'apiKeys: [{ id: k, sha256: abc }]')}]`, 'clients[0].apiKeys[0].sha256', 'not a SHA-256'],
  ['clients: [{ id: a, operations: [market.insight] }]', 'clients[0].operations[0]', 'unknown value'],
  ['clients: [{ id: a }]', 'clients[0].operations', 'missing'],
  [`${apiKey()}\nclients: [${client('a', 'burst: 3')}]`, 'clients[0].burst', 'burst without rate'],
  [
    insights('{ methods: [apiKey] }'),
    'operations.market.insights.auth',
    'auth is missing, so clients cannot authenticate',
  ],
  ['auth: { methods: [] }', 'auth.methods', 'the list is empty'],
  ['auth: { methods: [jwt] }', 'auth.methods[0]', 'auth.jwt is missing, so no token can be verified'],
  [
    `${apiKey()}\n${insights('{ methods: [introspection] }')}`,
    'operations.market.insights.auth.methods[0]',
    'auth.introspection is missing, so no token can be verified',
  ],
  [
    `auth: { methods: [introspection, jwt], ${jwt()}, ${introspection} }`,
    ...['auth.methods[1]', 'jwt gets no token, because introspection comes first and takes all'],
  ],
  [byJwt('http://login.example/keys'), 'auth.jwt.jwks', 'not encrypted'],
  [byJwt('https://a:b@login.example/'), 'auth.jwt.jwks', 'a URL with a user name or a password'],
  [byJwt('{"keys":{}}'), 'auth.jwt.jwks', 'not a key set'],
  [
    byJwt('{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}'), // a secret as the key of tokens
    ...['auth.jwt.jwks', 'a key set without a public key that can be used'],
  ],
  [
    byJwt(jwks(signingKey('RS256', 'a'))),
    ...['auth.jwt.algorithms', 'no key of auth.jwt.jwks fits one of these, so every token is rejected'],
  ],
  [
    `${apiKey()}\n${insights('{ scopes: [read] }')}`,
    'operations.market.insights.auth.scopes',
    'only tokens have scopes: clients with other credentials could not call this operation',
  ],
  [inField('x-api-key'), 'auth.identityField', taken],
  [inField('X_Api_Key'), 'auth.identityField', taken],
  [inField('X-Request-Id'), 'auth.identityField', taken],
  [`auth: { methods: [jwt], ${jwt()}, identityField: authorization }`, 'auth.identityField', taken],
  [`${inField(`Authorization, ${jwt()}`)}\n${insights('{ methods: [jwt] }')}`, 'auth.identityField', taken],
  [`${proofs}\nauth: { methods: [jwt], ${jwt()}, dpop: {} }`, 'requestId.header', taken],
  [
    `${proxied}\nauth: { methods: [mtls, apiKey], mtls: { from: client-cert }, apiKey: { field: client-cert } }`,
    ...['auth.apiKey.field', taken],
  ],
])('%s is rejected where it stands: %s', (text, path, message) => {
  expect(findProblems(`${sandbox}\n${text}`)).toContainEqual(expect.objectContaining({ path, message }))
})

test('auth: none for one operation needs no auth for the others', () => {
  expect(findProblems(`${sandbox}\noperations: { market.insights: { auth: none } }`)).toEqual([])
})

test('tokens that no operation takes get a warning', () => {
  const result = parse(`${sandbox}\nauth: { methods: [apiKey], ${jwt()} }\nclients: [{ id: a, operations: all }]`)

  expect(result.ok && result.warnings).toMatchObject([
    { path: 'auth.jwt', message: 'this does nothing: no operation takes these tokens' },
  ])
})

test('keys may stand in a file, which is read again when it changes', () => {
  const text = `${sandbox}\nauth: { methods: [jwt], ${jwt('file:keys.json')} }`
  const folder = folderWith({ 'gateway.yaml': text, 'keys.json': `${jwks(signingKey('ES256', 'a'))}\n` })
  const file = join(folder, 'gateway.yaml')
  const before = loadConfig(file)
  writeFileSync(join(folder, 'keys.json'), jwks(signingKey('ES256', 'b')))
  const after = loadConfig(file)

  expect(before.sources.map((source) => source.file)).toEqual([file, join(folder, 'keys.json')])
  expect(before.ok && after.ok && before.config.hash !== after.config.hash).toBe(true)
  expect(after.ok && after.config.auth?.jwt?.jwks).toMatchObject({ text: expect.stringContaining('"kid":"b"') })
})

test('the secret of introspection is not shown, not even in problems', () => {
  const config = validConfig(`${sandbox}\nauth: { methods: [introspection], ${introspection} }`)
  const problems = findProblems(
    `${sandbox}\nauth: { methods: [introspection], introspection: { clientSecret: [planted-secret] } }`,
  )

  expect(config.auth?.introspection?.clientSecret).toBe('planted-secret')
  expect(problems.map(({ path }) => path)).toContain('auth.introspection.clientSecret')
  expect(JSON.stringify([renderEffectiveConfig(config), problems])).not.toContain('planted')
})

test('the query of a server that decides on clients is shown nowhere, and a change of it is', () => {
  const load = (key: string): LoadedConfig => {
    const query = `?api_key=${key}`
    const asked = introspection.replace(".example/'", `.example/${query}'`).replace('planted-', '')
    const loaded = parse(
      `${sandbox}\nauth: { methods: [jwt, introspection], ${jwt(`https://a.example/${query}`)}, ${asked} }`,
    )
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    return loaded
  }
  const [before, after] = [load('planted-1'), load('planted-2')]

  const changes = diffConfigs(before, after)
  expect(JSON.stringify([before.report, renderEffectiveConfig(before.config), changes])).not.toContain('planted')
  expect(changes.map(({ path }) => path)).toEqual(['auth.jwt.jwks', 'auth.introspection.url'])
})
