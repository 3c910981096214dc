import { expect, test } from 'vitest'
import { at, documentOf } from '../../features/openapi/document.ts'
import type { Settings } from '../../helpers/gateway.ts'
import { jwks, signingKey } from '../../helpers/tokens.ts'

const jwt = { issuer: 'https://issuer.example', audience: ['gateway'], jwks: jwks(signingKey('ES256', 'one')) }
const introspection = {
  url: 'https://issuer.example/introspect',
  clientId: 'gateway',
  clientSecret: 'the-secret-of-it',
}
const client = { id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }
const tls = { listen: { publicUrl: 'https://gateway.example' } }
const insights = '/paths/~1market~1insights/get'

/** Returns what a document says of how clients of market.insights authenticate. */
const securityOf = (auth: object, more: Settings = {}): unknown =>
  at(documentOf({ auth: { ...auth }, clients: [client], ...more }), `${insights}/security`)

test('without auth it says nothing, and that is a gap', () => {
  const document = documentOf()

  expect(at(document, `${insights}/security`)).toBeUndefined()
  expect(at(document, '/components/securitySchemes')).toBeUndefined()
  expect(at(document, `${insights}/x-gap`)).toContain('authentication not specified')
})

const dpop = { maxAge: '60s' }
const bound = { methods: ['jwt'], jwt, bound: 'required', dpop }
const ownMethods = { 'market.insights': { auth: { methods: ['jwt'], scopes: ['insights'] } } }
const trusting = { listen: { ...tls.listen, trustedProxies: ['127.0.0.1'] } }

test.each<[string, object, Settings, readonly object[]]>([
  [
    'each method is an alternative, in the order of the file',
    { methods: ['jwt', 'apiKey', 'introspection'], jwt, introspection },
    {},
    [{ bearerJwt: [] }, { apiKey: [] }, { bearer: [] }],
  ],
  [
    'an operation has its own methods, and scopes beside its tokens',
    { methods: ['apiKey', 'jwt'], jwt },
    { operations: ownMethods },
    [{ bearerJwt: ['insights'] }],
  ],
  ['where every token is bound, a bearer is none', bound, tls, [{ dpop: [] }]],
  [
    'where every token is bound, a bearer needs a certificate beside it',
    { ...bound, mtls: { from: 'client-cert' } },
    trusting,
    [{ bearerJwt: [], mtls: [] }, { dpop: [] }],
  ],
])('%s', (_, auth, more, expected) => {
  expect(securityOf(auth, more)).toEqual(expected)
})

test('an operation without auth has the gap, beside others that have none', () => {
  const document = documentOf({
    auth: { methods: ['apiKey'] },
    clients: [{ ...client, claims: {} }],
    operations: { 'market.insights': { auth: 'none' } },
  })

  expect(at(document, `${insights}/security`)).toBeUndefined()
  expect(at(document, `${insights}/responses/401`)).toBeUndefined()
  expect(at(document, '/paths/~1leads~1pipeline/get/security')).toEqual([{ apiKey: [] }])
  expect(at(document, '/paths/~1leads~1pipeline/get/x-gap')).not.toContain('authentication not specified')
})

test('with DPoP a bound token is an alternative, and its proof a parameter', () => {
  const document = documentOf({ auth: { methods: ['jwt'], jwt, dpop }, clients: [client], ...tls })

  expect(at(document, `${insights}/security`)).toEqual([{ bearerJwt: [] }, { dpop: [] }])
  expect(at(document, `${insights}/parameters`)).toContainEqual({ $ref: '#/components/parameters/DPoP' })
  expect(at(document, '/components/securitySchemes/dpop')).toMatchObject({ type: 'http', scheme: 'DPoP' })
})

test('the field of the key is the one of the file', () => {
  const auth = { methods: ['apiKey'], apiKey: { field: 'X-Bank-Key' } }
  const apiKey = { type: 'apiKey', in: 'header', name: 'X-Bank-Key', description: expect.any(String) }

  const document = documentOf({ auth, clients: [{ ...client, claims: {} }] })

  expect(at(document, '/components/securitySchemes')).toEqual({ apiKey })
})

test('no secret, no client and no upstream stands in a document', () => {
  const market = {
    endpoints: ['http://market.internal:8080'],
    request: { set: { 'X-Token': 'a-token-for-the-upstream' } },
    response: { set: { 'X-Planted': 'a-value-of-the-response' } },
  }
  const auth = { methods: ['introspection'], introspection }
  const more = { clients: [{ ...client, rate: '1/min' }], admin: { token: 'the-token-of-the-operator' } }
  const text = JSON.stringify(documentOf({ auth, upstreams: { market }, ...more }))

  expect(text).toContain('X-Planted')
  expect(text).not.toMatch(/the-secret|a-token|a-value|the-token|bank-a|market\.internal|issuer\.example/)
})
