import { expect, test } from 'vitest'
import type { PlainObject } from '../../../src/core/lib/plain-object.ts'
import { describeServers } from '../../../src/features/openapi/openapi-document.ts'
import { allOperations } from '../../../src/operations.ts'
import { at, documentOf, operationsOf, problemsOf } from '../../features/openapi/document.ts'
import { contract, ok } from '../../features/openapi/given-contract.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'
import { jwks, signingKey } from '../../helpers/tokens.ts'

const jwt = { issuer: 'https://issuer.example', audience: ['gateway'], jwks: jwks(signingKey('ES256', 'one')) }
const introspection = { url: 'https://issuer.example/introspect', clientId: 'gateway', clientSecret: 'a-secret' }

const configurations: Readonly<Record<string, Settings>> = {
  'the smallest': {},
  'every method of authentication': {
    listen: { publicUrl: 'https://gateway.example/lender' },
    auth: { methods: ['apiKey', 'jwt', 'introspection'], jwt, introspection, dpop: { maxAge: '60s' } },
    clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
  },
  'certificates of a proxy': {
    listen: { trustedProxies: ['127.0.0.1'] },
    auth: { methods: ['mtls'], mtls: { from: 'client-cert' } },
    clients: [{ id: 'bank-a', operations: 'all', certificates: [`sha256:${'0a'.repeat(32)}`] }],
  },
  limits: { limits: { address: { rate: '10/s' }, concurrency: 5 }, tracing: { serverTiming: true } },
  'a cache': { operations: { 'market.insights': { cache: true } } },
  'a base path': { listen: { basePath: '/lender/v1' } },
  'no request id': { requestId: { header: 'none' } },
  'an interaction id as request id': { requestId: { header: 'x-fapi-interaction-id', format: 'uuid' } },
  'fields that the gateway sets': {
    upstreams: { market: { endpoints: ['https://market.internal'], response: { set: { 'X-Frame-Options': 'DENY' } } } },
  },
}

test.each(Object.entries(configurations))(
  'the document of %s fits OpenAPI 3.1, and has exactly the nine, by their ids and with their groups as tags',
  async (_, settings) => {
    const document = documentOf(settings)
    const prefix = settings.listen?.basePath ?? ''

    expect(await problemsOf(document)).toEqual([])
    expect(operationsOf(document)).toEqual(allOperations.map(({ method, path }) => `${method} ${prefix}${path}`))
    for (const { id, method, path, group } of allOperations)
      expect(at(document, `/paths/${(prefix + path).replaceAll('/', '~1')}/${method.toLowerCase()}`)).toMatchObject({
        operationId: id,
        tags: [group],
      })
  },
)

test('what the two upstreams of a group set has one header for each name', () => {
  const own = { endpoints: ['sandbox'], response: { set: { 'X-Frame-Options': 'DENY' } } }
  const set = { 'x-frame-options': 'DENY', 'X-Stage': 'tried' }
  const candidate = { endpoints: ['sandbox'], response: { set } }

  const document = documentOf({ upstreams: { market: { ...own, candidate } } })

  expect(Object.keys(Object(at(document, '/components/headers'))).filter((name) => name.startsWith('Set.'))).toEqual([
    'Set.x-frame-options',
    'Set.X-Stage',
  ])
})

test('a document with a mistake does not pass', async () => {
  const paths = { '/market/insights': { get: { responses: { nonsense: {} } } } }

  expect(await problemsOf({ ...documentOf(), paths })).not.toEqual([])
  expect(await problemsOf({ ...documentOf(), components: {} })).toContain('#/components/responses/BadRequest')
})

test.each([
  ['', { from: ['10.0.0.1'] }],
  ['https:', { from: ['10.0.0.1'], scheme: 'https' }],
])('behind a proxy that says who its client is, each host is a server, by %j', (scheme, proxyProtocol) => {
  const { listen } = testConfig({ listen: { hosts: ['gateway.example', '[::1]:8080'], proxyProtocol } })

  expect(describeServers(listen)).toEqual({
    servers: [{ url: `${scheme}//gateway.example` }, { url: `${scheme}//[::1]:8080` }],
    pathPrefix: '',
  })
})

test('a key that the gateway requires is required, though the contract leaves it open', async () => {
  const key = { name: 'idempotency-KEY', in: 'header', description: 'A UUID.', schema: { type: 'string' } }
  const post = { parameters: [key], responses: { 200: ok } }
  const settings = { operations: { 'valuation.score': { idempotency: { required: true } } } }
  const named = (document: PlainObject) =>
    (at(document, '/paths/~1valuation~1score/post/parameters') as readonly PlainObject[]).filter(
      ({ name }) => name === key.name,
    )
  const own = documentOf(settings, { ...contract, paths: { '/valuation/score': { post } } })
  const { parameters: _, ...bare } = post
  const ofPath = documentOf(settings, { ...contract, paths: { '/valuation/score': { parameters: [key], post: bare } } })

  const ofBoth = documentOf(settings, { ...contract, paths: { '/valuation/score': { parameters: [key], post } } })

  const documents = [own, ofPath, ofBoth]
  expect(documents.map(named)).toEqual(documents.map(() => [{ ...key, required: true }]))
  expect((await Promise.all(documents.map(problemsOf))).flat()).toEqual([])
})
