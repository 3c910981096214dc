import { expect, test } from 'vitest'
import { findProblems, sandbox, validConfig } from '../../../core/config/helper.ts'

const jwt = 'jwt: { issuer: a, audience: [b], jwks: https://login.example/jwks }'
const tokens = `methods: [jwt], ${jwt}`
const publicUrl = 'listen: { publicUrl: https://gateway.example }'
const byName = 'clients: [{ id: a, operations: all, certificates: [dns:bank-a.example] }]'
const proxies = 'listen: { trustedProxies: [192.0.2.1] }'

test.each([
  [
    'mtls where no client is asked',
    'auth: { methods: [mtls] }',
    'auth.methods[0]',
    'no client is asked for a certificate',
  ],
  [
    'mtls for one operation where no client is asked',
    'auth: { methods: [apiKey] }\noperations: { market.insights: { auth: { methods: [apiKey, mtls] } } }',
    'operations.market.insights.auth.methods[1]',
    'no client is asked for a certificate',
  ],
  [
    'Client-Cert without a trusted proxy',
    'auth: { methods: [mtls], mtls: { from: client-cert } }',
    'auth.mtls.from',
    'nobody is believed what stands in Client-Cert',
  ],
  [
    'a name in Client-Cert that anybody can write',
    `auth: { methods: [mtls], mtls: { from: client-cert } }\n${proxies}\n${byName}`,
    'clients[0].certificates[0]',
    'nothing says whose word counts for this name',
  ],
  [
    'an authority without a use',
    'auth: { methods: [apiKey], mtls: { ca: "-----BEGIN CERTIFICATE-----" } }',
    'auth.mtls.ca',
    'certificates of connections are judged by listen.tls.clientCa',
  ],
  [
    'an authority that cannot be read',
    `auth: { methods: [mtls], mtls: { from: client-cert, ca: "-----BEGIN CERTIFICATE-----" } }\n${proxies}`,
    'auth.mtls.ca',
    'a certificate that cannot be read',
  ],
  [
    'a name that two clients have',
    'clients: [{ id: a, operations: all, certificates: [dns:a.example] }, { id: b, operations: all, certificates: [dns:A.example] }]',
    'clients[1].certificates[0]',
    'this certificate stands here already',
  ],
  [
    'bound for keys',
    'auth: { methods: [apiKey], bound: required }',
    'auth.bound',
    'only tokens can be bound, and no method takes them',
  ],
  [
    'dpop for keys',
    `auth: { methods: [apiKey], dpop: {} }\n${publicUrl}`,
    'auth.dpop',
    'only tokens can be bound, and no method takes them',
  ],
  [
    'bound where no client can prove possession',
    `auth: { ${tokens}, bound: required }`,
    'auth.bound',
    'nobody can show what a token is bound to: neither a certificate nor a proof is taken',
  ],
  ['dpop without a URL', `auth: { ${tokens}, dpop: {} }`, 'auth.dpop', 'nothing says what URL proofs are made for'],
  [
    'withoutRedis without Redis',
    `auth: { ${tokens}, dpop: { withoutRedis: serve } }\n${publicUrl}`,
    'auth.dpop.withoutRedis',
    'there is no Redis to be without',
  ],
  [
    'dpop with a secret',
    `auth: { ${tokens}, dpop: { algorithms: [HS256] } }\n${publicUrl}`,
    'auth.dpop.algorithms[0]',
    'unknown value',
  ],
  [
    'a wildcard',
    'clients: [{ id: a, operations: all, certificates: ["dns:*.a.example"] }]',
    'clients[0].certificates[0]',
    'not a host name',
  ],
  [
    'a bare name',
    'clients: [{ id: a, operations: all, certificates: [a.example] }]',
    'clients[0].certificates[0]',
    'not the name of a certificate',
  ],
  [
    'half a fingerprint',
    'clients: [{ id: a, operations: all, certificates: ["sha256:ab"] }]',
    'clients[0].certificates[0]',
    'not a SHA-256',
  ],
  ['a path alone', 'listen: { publicUrl: /base }', 'listen.publicUrl', 'not a URL'],
])('%s is rejected where it stands', (_, text, path, message) => {
  expect(findProblems(`${sandbox}\n${text}`)).toContainEqual(expect.objectContaining({ path, message }))
})

test('a certificate is named by any of its names, and by its fingerprint in every usual spelling', () => {
  const hex = 'AB'.repeat(32)
  const names = [
    'dns:Bank-A.example',
    'uri:urn:Bank:a',
    'email:Ops@bank-a.example',
    `sha256:${hex}`,
    `sha256:${hex.match(/../g)?.join(':')}`,
  ]
  const { clients } = validConfig(
    `${sandbox}\nauth: { methods: [apiKey] }\nclients: [{ id: a, operations: all, certificates: ${JSON.stringify(names.slice(0, 4))} }]`,
  )
  const spelled = validConfig(
    `${sandbox}\nauth: { methods: [apiKey] }\nclients: [{ id: a, operations: all, certificates: ${JSON.stringify(names.slice(4))} }]`,
  )

  const digest = `sha256:${Buffer.from(hex, 'hex').toString('base64url')}`
  expect(clients[0]?.certificates).toEqual(['dns:bank-a.example', 'uri:urn:Bank:a', 'email:Ops@bank-a.example', digest])
  expect(spelled.clients[0]?.certificates).toEqual([digest])
})

test('proofs are accepted for the public URL, by default for a minute', () => {
  const { auth, listen } = validConfig(
    `${sandbox}\nauth: { ${tokens}, dpop: {} }\nlisten: { publicUrl: HTTPS://Gateway.example:443/base/ }`,
  )

  expect(listen.publicUrl).toBe('https://gateway.example/base')
  expect(auth?.dpop).toEqual({
    algorithms: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
    ...{ maxAge: 60_000, clockTolerance: 5000, withoutRedis: 'refuse' },
  })
})
