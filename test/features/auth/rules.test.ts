import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { diffConfigs } from '../../../src/core/config/diff/diff-reports.ts'
import { renderEffectiveConfig } from '../../../src/core/config/diff/report.ts'
import type { LoadedConfig } from '../../../src/core/config/load/load.ts'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { findProblems, folderWith, parse, sandbox, validConfig } from '../../core/config/helper.ts'
import { jwks, signingKey } from '../../helpers/tokens.ts'

const sha = 'ab'.repeat(32)
const keyed = (id: string, key: string) => `{ id: ${id}, operations: all, apiKeys: [{ id: ${key}, sha256: ${sha} }] }`
const jwt = (jwks = 'https://login.example/keys') => `jwt: { issuer: a, audience: [b], jwks: '${jwks}' }`
const introspectionYaml = "{ url: 'https://login.example/', clientId: a, clientSecret: planted-secret }"

test.each([
  [
    'a second client of the same name',
    `clients: [${keyed('a', 'k1')}, ${keyed('a', 'k2')}]`,
    'clients[1].id',
    'a client of this name stands here already',
  ],
  [
    'a key that another client has',
    `clients: [${keyed('a', 'k')}, ${keyed('b', 'k')}]`,
    'clients[1].apiKeys[0].id',
    'a key of this id stands here already',
  ],
  [
    'auth for one operation alone',
    'operations: { market.insights: { auth: { methods: [apiKey] } } }',
    'operations.market.insights.auth',
    'nothing says how clients prove who they are',
  ],
  [
    'one field for identity and key',
    'auth: { methods: [apiKey], identityField: x-api-key }',
    'auth.identityField',
    'this field is used for something else',
  ],
  [
    'one field for identity and request id',
    'auth: { methods: [apiKey], identityField: X-Request-Id }',
    'auth.identityField',
    'this field is used for something else',
  ],
  [
    'a digest that is none',
    'clients: [{ id: a, operations: all, apiKeys: [{ id: k, sha256: abc }] }]',
    'clients[0].apiKeys[0].sha256',
    'not a SHA-256',
  ],
  [
    'an operation that is none of the nine',
    'clients: [{ id: a, operations: [market.insight] }]',
    'clients[0].operations[0]',
    'unknown value',
  ],
  ['no word of what a client may call', 'clients: [{ id: a }]', 'clients[0].operations', 'missing'],
  [
    'clients without authentication',
    `clients: [${keyed('a', 'k')}]`,
    'clients',
    'this cannot be enforced: nobody is asked who it is',
  ],
  [
    'a burst of nothing',
    'auth: { methods: [apiKey] }\nclients: [{ id: a, operations: all, burst: 3 }]',
    'clients[0].burst',
    'a burst of no rate',
  ],
  ['no method', 'auth: { methods: [] }', 'auth.methods', 'the list is empty'],
  ['a method that knows no token', 'auth: { methods: [jwt] }', 'auth.methods[0]', 'nothing says which tokens are good'],
  [
    'one of an operation',
    'auth: { methods: [apiKey] }\noperations: { market.insights: { auth: { methods: [introspection] } } }',
    'operations.market.insights.auth.methods[0]',
    'nothing says which tokens are good',
  ],
  [
    'a method that comes too late',
    `auth: { methods: [introspection, jwt], ${jwt()}, introspection: ${introspectionYaml} }`,
    'auth.methods[1]',
    'no token gets as far as this: introspection takes them all',
  ],
  [
    'keys over the network in the clear',
    `auth: { methods: [jwt], ${jwt('http://login.example/keys')} }`,
    'auth.jwt.jwks',
    'not encrypted',
  ],
  [
    'a password in the URL of keys',
    `auth: { methods: [jwt], ${jwt('https://a:b@login.example/')} }`,
    'auth.jwt.jwks',
    'a URL with a user name or a password',
  ],
  ['keys that are none', `auth: { methods: [jwt], ${jwt('{"keys":{}}')} }`, 'auth.jwt.jwks', 'not a key set'],
  [
    'a secret as the key of tokens',
    `auth: { methods: [jwt], ${jwt('{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}')} }`,
    'auth.jwt.jwks',
    'a key set without a public key that can be used',
  ],
  [
    'tokens and identity in one field',
    `auth: { methods: [jwt], ${jwt()}, identityField: authorization }`,
    'auth.identityField',
    'this field is used for something else',
  ],
  [
    'one field for identity and key, by another spelling',
    'auth: { methods: [apiKey], identityField: X_Api_Key }',
    'auth.identityField',
    'this field is used for something else',
  ],
  [
    'tokens of one operation and identity in one field',
    `auth: { methods: [apiKey], ${jwt()}, identityField: Authorization }\noperations: { market.insights: { auth: { methods: [jwt] } } }`,
    'auth.identityField',
    'this field is used for something else',
  ],
  [
    'proofs and a request id in one field',
    `listen: { publicUrl: 'https://a.example' }\nrequestId: { header: dpop }\nauth: { methods: [jwt], ${jwt()}, dpop: {} }`,
    'requestId.header',
    'this field is used for something else',
  ],
  [
    'a key in the field of certificates',
    'listen: { trustedProxies: [127.0.0.1] }\nauth: { methods: [mtls, apiKey], mtls: { from: client-cert }, apiKey: { field: client-cert } }',
    'auth.apiKey.field',
    'this field is used for something else',
  ],
  [
    'a file whose keys are for another algorithm',
    `auth: { methods: [jwt], ${jwt(jwks(signingKey('RS256', 'a')))} }`,
    'auth.jwt.algorithms',
    'no key of auth.jwt.jwks is for any of these, so no token is good',
  ],
  [
    'claims that another client has',
    'clients: [{ id: a, operations: all, claims: { iss: i, sub: s } }, { id: b, operations: all, claims: { sub: s, iss: i } }]',
    'clients[1].claims',
    'a client of these claims stands here already',
  ],
  [
    'a scope asked of a key',
    'auth: { methods: [apiKey] }\noperations: { market.insights: { auth: { scopes: [read] } } }',
    'operations.market.insights.auth.scopes',
    'only a token says something of these, so nobody could call this with anything else',
  ],
])('%s is rejected where it stands', (_, text, path, message) => {
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
  const config = validConfig(`${sandbox}\nauth: { methods: [introspection], introspection: ${introspectionYaml} }`)
  const problems = findProblems(
    `${sandbox}\nauth: { methods: [introspection], introspection: { clientSecret: [planted-secret] } }`,
  )

  expect(config.auth?.introspection?.clientSecret).toBe('planted-secret')
  expect(JSON.stringify(renderEffectiveConfig(config))).not.toContain('planted')
  expect(problems.map(({ path }) => path)).toContain('auth.introspection.clientSecret')
  expect(JSON.stringify(problems)).not.toContain('planted')
})

describe('of a server that decides on clients,', () => {
  const load = (key: string): LoadedConfig => {
    const jwt = `{ issuer: https://a.example, audience: [lender], jwks: "https://a.example/keys?api_key=${key}" }`
    const introspection = `{ url: "https://b.example/ask?api_key=${key}", clientId: gateway, clientSecret: secret }`
    const loaded = parse(
      `${sandbox}\nauth: { methods: [jwt, introspection], jwt: ${jwt}, introspection: ${introspection} }`,
    )
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    return loaded
  }

  test('the query of a server that decides on clients is shown nowhere, and a change of it is', () => {
    const [before, after] = [load('planted-1'), load('planted-2')]

    const changes = diffConfigs(before, after)
    expect(JSON.stringify([before.report, renderEffectiveConfig(before.config), changes])).not.toContain('planted')
    expect(changes.map(({ path }) => path)).toEqual(['auth.jwt.jwks', 'auth.introspection.url'])
  })
})
