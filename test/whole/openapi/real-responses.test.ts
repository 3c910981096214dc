/** What real gateways respond fits what the document of their configuration says. */
import { hash } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, expect, test } from 'vitest'
import type { PlainObject } from '../../../src/core/lib/plain-object.ts'
import { allOperations, type Operation } from '../../../src/operations.ts'
import { at, documentOf } from '../../features/openapi/document.ts'
import { contractFile } from '../../helpers/contract.ts'
import { bootGateway, openGateway, type Settings, type TestGateway } from '../../helpers/gateway.ts'
import { exchangeRaw } from '../../helpers/raw-client.ts'
import { headerValues, parseResponse, type RawResponse } from '../../helpers/raw-response.ts'
import { httpUpstream, onRequest, openHttpUpstream, rawUpstream } from '../../helpers/upstream.ts'

const secret = 'A'.repeat(43)
const authorized = `X-Api-Key: key.${secret}\r\n`
const client = { id: 'bank-a', operations: 'all', apiKeys: [{ id: 'key', sha256: hash('sha256', secret) }] }
const withKeys: Settings = { auth: { methods: ['apiKey'] }, clients: [client], tracing: { serverTiming: true } }
const keyed: Settings = { operations: { 'valuation.score': { idempotency: { required: true } } } }
const once = 'Idempotency-Key: k-1\r\nContent-Length: 1\r\n'
/** Nothing beside the defaults. */
const plainly: Settings = {}
const cached: Settings = { operations: { 'market.insights': { cache: true } } }

const get = (fields = '', target = '/market/insights', host = 'localhost'): string =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nx-fapi-interaction-id: an-id\r\n${fields}\r\n`
const post = (fields: string, body = ''): string =>
  `POST /valuation/score HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n${body}`

interface Case {
  readonly what: string
  readonly status: number
  readonly code: string | null
  readonly settings: Settings
  readonly request: string
  /** How often the request is sent before. */
  readonly before?: number
}

const failure = (status: number, code: string, what: string, request: string, settings: Settings = plainly): Case => ({
  what,
  status,
  code,
  settings,
  request,
})

const success = (status: number, what: string, request: string, settings: Settings, before = 0): Case => ({
  ...{ what, status, code: null, settings, request, before },
})

const cases: readonly Case[] = [
  failure(400, 'bad-request', 'a broken Host', get('', '/market/insights', 'a b')),
  failure(400, 'bad-request', 'a broken field, which no request comes of', get('a b\r\n')),
  failure(401, 'unauthenticated', 'no credential', get(), withKeys),
  failure(403, 'forbidden', 'a client that may not call', get(authorized), {
    ...withKeys,
    clients: [{ ...client, operations: ['leads.pipeline'] }],
  }),
  failure(408, 'request-timeout', 'a head that does not end', get().slice(0, -2), {
    listen: { timeouts: { headers: '200ms' } },
  }),
  failure(413, 'content-too-large', 'a large body', post('Content-Length: 9\r\n', '123456789'), {
    operations: { 'valuation.score': { maxBody: '8B' } },
  }),
  failure(414, 'uri-too-long', 'a long query', get('', `/market/insights?${'a'.repeat(200)}`), {
    listen: { maxTarget: '64B' },
  }),
  failure(417, 'expectation-failed', 'an unknown expectation', get('Expect: more\r\n')),
  failure(421, 'misdirected', 'another host', get(), { listen: { hosts: ['gateway.example'] } }),
  {
    ...failure(429, 'rate-limited', 'a client that asks too often', get(authorized), {
      ...withKeys,
      clients: [{ ...client, rate: '1/min' }],
    }),
    before: 1,
  },
  failure(431, 'header-too-large', 'many fields', get('A: b\r\n'.repeat(20)), { listen: { maxHeaderFields: 10 } }),
  failure(400, 'idempotency-key-missing', 'no key', post('Content-Length: 1\r\n', 'a'), keyed),
  success(200, 'a replay', post(once, 'a'), keyed, 1),
  failure(501, 'unsupported-coding', 'a coded body', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')),
  failure(502, 'connect-failed', 'an endpoint that is not there', get(), { ...cached, upstream: 'http://127.0.0.1:1' }),
  failure(503, 'refused-by-operator', 'an operation out of service', get(), {
    operations: { 'market.insights': { state: 'refuse' } },
  }),
  failure(
    504,
    'not-cached',
    'a client that takes stored responses only',
    get('Cache-Control: only-if-cached\r\n', '/market/insights?not-stored'),
    cached,
  ),
  failure(505, 'unsupported-version', 'another version', get().replace('HTTP/1.1', 'HTTP/1.2')),
  failure(508, 'loop', 'a request that comes again', get('Via: 1.1 the-gateway\r\n'), {
    listen: { via: 'the-gateway' },
  }),
  success(200, 'a response', get(), plainly),
  success(200, 'a stored response', get(), cached, 1),
  success(304, 'a stored response that the client has', get('If-None-Match: "1"\r\n'), cached, 1),
  success(206, 'a part of a stored response', get('Range: bytes=0-0\r\n'), cached, 1),
  success(200, 'a response with fields that the gateway sets', get(authorized), {
    ...withKeys,
    limits: { address: { rate: '10/s' } },
  }),
]

/** The fields that a response of any HTTP server has. */
const plain = 'content-type content-length content-range date connection keep-alive cache-control etag'.split(' ')

/** Lists what is wrong with a response by the document. */
const deviations = (response: RawResponse, document: PlainObject, { method, path }: Operation): readonly string[] => {
  const responses = `/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}/responses`
  const resolve = (node: unknown): PlainObject => {
    const { $ref, ...inline } = Object(node)
    return $ref === undefined ? inline : resolve(at(document, $ref))
  }
  const stated = resolve(at(document, `${responses}/${response.status}`) ?? at(document, `${responses}/default`))
  const headers = Object.entries<object>(Object(stated.headers)).map(
    ([name, header]) => [name.toLowerCase(), resolve(header)] as const,
  )
  const names = response.fields.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
  const unstated = names.filter((name) => !plain.includes(name) && !headers.some(([known]) => known === name))
  const missing = headers.filter(([name, { required }]) => required === true && !names.includes(name))

  const [type = ''] = headerValues(response, 'content-type')
  const { schema = true } = resolve(Object(stated.content)[type] ?? Object(stated.content)['*/*'])
  const rooted = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'))
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  const fits = type.endsWith('json') ? ajv.addSchema({ ...document }, 'document').compile(rooted) : null
  fits?.(JSON.parse(response.body))
  return [
    ...(stated.description === undefined ? [`no status ${response.status}`] : []),
    ...unstated.map((name) => `${name} is not stated`),
    ...missing.map(([name]) => `${name} is missing`),
    ...(fits?.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`),
  ]
}

const operationOf = (request: string): Operation => {
  const operation = allOperations.find(({ path }) => request.includes(path))
  if (operation === undefined) throw new Error('the request is for none of the nine')
  return operation
}

const upstream = await openHttpUpstream((_, response) => {
  response.setHeader('Cache-Control', 'max-age=60')
  response.setHeader('ETag', '"1"')
  response.end('{"a":1}')
})
const gateways = new Map<Settings, Promise<TestGateway>>()
afterAll(async () => {
  for (const opened of gateways.values()) await (await opened).gateway.close()
  await upstream.close()
})

/** Opens one gateway for all cases of the same settings. */
const portWith = async (settings: Settings): Promise<number> => {
  const opened = gateways.get(settings) ?? openGateway({ upstream: upstream.url, ...settings })
  gateways.set(settings, opened)
  return (await opened).port
}

test.each(cases)('$status for $what fits its description', async ({ status, code, settings, request, before = 0 }) => {
  const port = await portWith(settings)

  for (let i = 0; i < before; i++) await exchangeRaw(port, request.replace(/If-None-Match.*\r\n|Range.*\r\n/, ''))
  const text = await exchangeRaw(port, request)
  const { response } = parseResponse(text, 'GET') ?? { response: null }
  if (response === null) throw new Error(`no response: ${text}`)

  expect(response.status).toBe(status)
  if (code !== null) expect(JSON.parse(response.body)).toMatchObject({ code })
  const document = documentOf({ upstream: upstream.url, ...settings })
  expect(deviations(response, document, operationOf(request))).toEqual([])
})

test.each([200, 502])('%i of a group whose responses name the side fits its description', async (status) => {
  const { url } =
    status === 200 ? await httpUpstream((_, response) => response.end('{}')) : { url: 'http://127.0.0.1:1' }
  const candidate = { endpoints: [url], share: '100%', expose: 'X-Upstream-Side' }
  const settings = { upstreams: { market: { endpoints: [url], candidate } } }
  const { port } = await bootGateway(settings)

  const { response } = parseResponse(await exchangeRaw(port, get()), 'GET') ?? { response: null }

  expect(response?.status).toBe(status)
  expect(response && headerValues(response, 'x-upstream-side')).toHaveLength(1)
  expect(response && deviations(response, documentOf(settings), operationOf(get()))).toEqual([])
})

/** A contract in which a score takes a number, and gives one. */
const content = { 'application/json': { schema: { type: 'number' } } }
const post200 = { requestBody: { required: true, content }, responses: { 200: { description: 'The score.', content } } }
const contract = contractFile({ openapi: '3.1.0', paths: { '/valuation/score': { post: post200 } } }, afterAll)
const enforced: Settings = { contract: { file: contract, request: 'enforce', response: 'enforce' } }

test.each([
  [400, 'invalid-request', 'application/json', 'true'],
  [415, 'unsupported-media-type', 'text/plain', '1'],
  // Its upstream sends an object.
  [502, 'invalid-response', 'application/json', '1'],
])('%i %s of a contract that is enforced fits its description', async (status, code, type, body) => {
  const port = await portWith(enforced)
  const request = post(`Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n`, body)

  const { response } = parseResponse(await exchangeRaw(port, request), 'POST') ?? { response: null }

  expect(response?.status).toBe(status)
  expect(JSON.parse(response?.body ?? '')).toMatchObject({ code })
  expect(response && deviations(response, documentOf(enforced), operationOf(request))).toEqual([])
})

test('a contract that is only reported adds no error, and fills gaps', () => {
  const document = documentOf({ contract: { file: contract } })
  const score = '/paths/~1valuation~1score/post'

  expect(JSON.stringify(at(document, `${score}/responses`))).not.toMatch(/415|invalid-/)
  expect(at(document, `${score}/x-gap`)).not.toContain('request body not specified')
})

test('409 and 422 for a key that came before fit their description', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void promise.then(() => response.end()))
  const settings = { upstream: upstream.url, ...keyed }
  const { port } = await bootGateway(settings)
  const first = exchangeRaw(port, post(once, 'a'))
  await expect.poll(() => upstream.requests.length).toBe(1)

  const same = parseResponse(await exchangeRaw(port, post(once, 'a')), 'POST')?.response ?? null
  resolve()
  await first
  const other = parseResponse(await exchangeRaw(port, post(once, 'b')), 'POST')?.response ?? null

  const score = operationOf(post(''))
  expect([same?.status, other?.status]).toEqual([409, 422])
  expect(same && headerValues(same, 'retry-after')).toEqual(['1'])
  for (const response of [same, other])
    expect(response && deviations(response, documentOf(settings), score)).toEqual([])
})

test.each<[status: number, code: string, request: string, answer: string | null, settings: Settings]>([
  [502, 'truncated', post(once, 'a'), 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', keyed],
  [504, 'headers-timeout', get(), null, { defaults: { timeouts: { headers: '100ms' } } }],
])(
  '%i %s of an upstream that breaks off, or is silent, fits its description',
  async (status, code, request, answer, more) => {
    const broken = await rawUpstream((socket) => onRequest(socket, () => void (answer !== null && socket.end(answer))))
    const settings = { upstream: broken.url, ...more }
    const { port } = await bootGateway(settings)

    const { response } = parseResponse(await exchangeRaw(port, request), 'GET') ?? { response: null }

    expect([response?.status, JSON.parse(response?.body ?? '').code]).toEqual([status, code])
    expect(response && deviations(response, documentOf(settings), operationOf(request))).toEqual([])
  },
)

test('a key that is required is a parameter that is required', () => {
  const parameter = (required: boolean) =>
    at(
      documentOf({ operations: { 'valuation.score': { idempotency: { required } } } }),
      '/components/parameters/IdempotencyKey',
    )

  expect(parameter(true)).toMatchObject({ in: 'header', required: true })
  expect(parameter(false)).not.toHaveProperty('required')
})

test('a response that does not fit is noticed', () => {
  const [market] = allOperations.filter(({ id }) => id === 'market.insights')
  const fields = ['Content-Type', 'application/problem+json', 'RateLimit', 'x']
  const body = JSON.stringify({ type: 'about:blank', title: 'Bad Request', status: 400, code: 'loop', requestId: 'a' })
  const response = { status: 400, reason: '', version: '', fields, body }

  expect(market && deviations(response, documentOf(), market)).toEqual([
    'ratelimit is not stated',
    'x-request-id is missing',
    '/code must be equal to one of the allowed values',
  ])
})
