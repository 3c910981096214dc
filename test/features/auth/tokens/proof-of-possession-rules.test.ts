import { expect, test } from 'vitest'
import { findProblems, sandbox, validConfig } from '../../../core/config/helper.ts'

const jwt = 'jwt: { issuer: a, audience: [b], jwks: https://login.example/jwks }'
const tokens = `methods: [jwt], ${jwt}`
const publicUrl = 'listen: { publicUrl: https://gateway.example }'
const proxies = 'listen: { trustedProxies: [192.0.2.1] }'
const named = (...names: readonly string[]) =>
  `clients: [${names.map((name, n) => `{ id: c${n}, operations: all, certificates: ["${name}"] }`)}]`
const proxied = (more = '') => `auth: { methods: [mtls], mtls: { from: client-cert${more} } }`
const empty = 'ca: "-----BEGIN CERTIFICATE-----"'
const ofOperation = 'operations: { market.insights: { auth: { methods: [apiKey, mtls] } } }'

const first = 'clients[0].certificates[0]'
const notAsked = 'this does nothing: no client is asked for a certificate'
const noTokens = 'only tokens can be bound, and no method accepts tokens'

test.each([
  ['auth: { methods: [mtls] }', 'auth.methods[0]', notAsked],
  [`auth: { methods: [apiKey] }\n${ofOperation}`, 'operations.market.insights.auth.methods[1]', notAsked],
  [proxied(), 'auth.mtls.from', 'listen.trustedProxies is empty, so Client-Cert is ignored'],
  [
    `${proxied()}\n${proxies}\n${named('dns:a.example')}`,
    first,
    'without an authority, anybody could issue a certificate with this name',
  ],
  [
    `auth: { methods: [apiKey], mtls: { ${empty} } }`,
    ...['auth.mtls.ca', 'ca does nothing here: listen.tls.clientCa verifies certificates of connections'],
  ],
  [`${proxied(`, ${empty}`)}\n${proxies}`, 'auth.mtls.ca', 'a certificate that cannot be read'],
  [named('dns:a.example', 'dns:A.example'), 'clients[1].certificates[0]', 'a second entry with this certificate'],
  [named('dns:*.a.example'), first, 'not a host name'],
  [named('a.example'), first, 'not the name of a certificate'],
  [named('sha256:ab'), first, 'not a SHA-256'],
  ['auth: { methods: [apiKey], bound: required }', 'auth.bound', noTokens],
  [`auth: { methods: [apiKey], dpop: {} }\n${publicUrl}`, 'auth.dpop', noTokens],
  [
    `auth: { ${tokens}, bound: required }`,
    ...[
      'auth.bound',
      'no client can prove possession of a bound token: neither certificates nor DPoP proofs are accepted',
    ],
  ],
  [
    `auth: { ${tokens}, dpop: {} }`,
    'auth.dpop',
    'listen.publicUrl is missing, so the URL in a proof cannot be checked',
  ],
  [
    `auth: { ${tokens}, dpop: { withoutRedis: serve } }\n${publicUrl}`,
    ...['auth.dpop.withoutRedis', 'limits.redis is missing, so this does nothing'],
  ],
  [`auth: { ${tokens}, dpop: { algorithms: [HS256] } }\n${publicUrl}`, 'auth.dpop.algorithms[0]', 'unknown value'],
  ['listen: { publicUrl: /base }', 'listen.publicUrl', 'not a URL'],
])('%s is rejected where it stands: %s', (text, path, message) => {
  expect(findProblems(`${sandbox}\n${text}`)).toContainEqual(expect.objectContaining({ path, message }))
})

test('a certificate is named by any of its names, and by its fingerprint in every usual spelling', () => {
  const hex = 'AB'.repeat(32)
  const names = ['dns:Bank-A.example', 'uri:urn:Bank:a', 'email:Ops@bank-a.example', `sha256:${hex}`]
  const load = (certificates: readonly string[]) => {
    const client = { id: 'a', operations: 'all', certificates }
    const text = `${sandbox}\nauth: { methods: [apiKey] }\nclients: [${JSON.stringify(client)}]`
    return validConfig(text).clients[0]?.certificates
  }

  const digest = `sha256:${Buffer.from(hex, 'hex').toString('base64url')}`
  expect(load(names)).toEqual(['dns:bank-a.example', 'uri:urn:Bank:a', 'email:Ops@bank-a.example', digest])
  expect(load([`sha256:${hex.match(/../g)?.join(':')}`])).toEqual([digest])
})

test('proofs are accepted for the public URL, by default for a minute', () => {
  const { auth, listen } = validConfig(
    `${sandbox}\nauth: { ${tokens}, dpop: {} }\nlisten: { publicUrl: HTTPS://Gateway.example:443/base/ }`,
  )

  expect(listen.publicUrl).toBe('https://gateway.example/base')
  expect(auth?.dpop).toEqual({
    algorithms: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
    ...{ maxAge: 60_000, clockTolerance: 5000, withoutRedis: 'reject' },
  })
})
