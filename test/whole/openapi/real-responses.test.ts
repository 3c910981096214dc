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
const by = (key: string): string => `X-Api-Key: ${key}.${secret}\r\n`
const client = (id: string, more: object = {}) => ({
  ...{ id, operations: 'all', apiKeys: [{ id, sha256: hash('sha256', secret) }] },
  ...more,
})
const withKeys: Settings = {
  auth: { methods: ['apiKey'] },
  clients: [client('any'), client('barred', { operations: ['leads.pipeline'] }), client('seldom', { rate: '1/min' })],
  limits: { address: { rate: '10/s' } },
  tracing: { serverTiming: true },
}
const keyed: Settings = { operations: { 'valuation.score': { idempotency: { required: true } } } }
const once = 'Idempotency-Key: k-1\r\nContent-Length: 1\r\n'
/** Nothing beside the defaults. */
const plainly: Settings = {}
const cached: Settings = { operations: { 'market.insights': { cache: true } } }
const strict: Settings = {
  listen: { hosts: ['localhost'], maxTarget: '64B', maxHeaderFields: 10, via: 'gateway' },
  operations: { 'valuation.score': { maxBody: '8B' }, 'leads.pipeline': { state: 'reject' } },
}
const impatient: Settings = { listen: { timeouts: { headers: '200ms' } } }

const get = (fields = '', target = '/market/insights', host = 'localhost'): string =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nx-fapi-interaction-id: an-id\r\n${fields}\r\n`
const post = (fields: string, body = ''): string =>
  `POST /valuation/score HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n${body}`

/** `before`: how often the request is sent before. */
type Case = [status: number, code: string | null, what: string, request: string, settings?: Settings, before?: number]

const longQuery = `/market/insights?${'a'.repeat(200)}`
const onlyStored = get('Cache-Control: only-if-cached\r\n', '/market/insights?not-stored')
const coded = post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')

const cases: readonly Case[] = [
  [400, 'bad-request', 'a broken Host', get('', '/market/insights', 'a b')],
  [400, 'bad-request', 'a broken field, which no request comes of', get('a b\r\n')],
  [401, 'unauthenticated', 'no credential', get(), withKeys],
  [403, 'forbidden', 'a client that may not call', get(by('barred')), withKeys],
  [408, 'request-timeout', 'an endless head', get().slice(0, -2), impatient],
  [413, 'content-too-large', 'a body', post('Content-Length: 9\r\n', '123456789'), strict],
  [414, 'uri-too-long', 'a long query', get('', longQuery), strict],
  [417, 'expectation-failed', 'an unknown expectation', get('Expect: more\r\n')],
  [421, 'misdirected', 'another host', get('', '/market/insights', 'gateway.example'), strict],
  [429, 'rate-limited', 'a client that asks too often', get(by('seldom')), withKeys, 1],
  [431, 'header-too-large', 'many fields', get('A: b\r\n'.repeat(20)), strict],
  [400, 'idempotency-key-missing', 'no key', post('Content-Length: 1\r\n', 'a'), keyed],
  [200, null, 'a replay', post(once, 'a'), keyed, 1],
  [501, 'unsupported-coding', 'a coded body', coded],
  [502, 'connect-failed', 'an endpoint that is not there', get(), { ...cached, upstream: 'http://127.0.0.1:1' }],
  [503, 'rejected-by-operator', 'an operation out of service', get('', '/leads/pipeline'), strict],
  [504, 'not-cached', 'a client that takes stored responses only', onlyStored, cached],
  [505, 'unsupported-version', 'another version', get().replace('HTTP/1.1', 'HTTP/1.2')],
  [508, 'loop', 'a request that comes again', get('Via: 1.1 gateway\r\n'), strict],
  [200, null, 'a response', get()],
  [200, null, 'a stored response', get(), cached, 1],
  [304, null, 'a stored response that the client has', get('If-None-Match: "1"\r\n'), cached, 1],
  [206, null, 'a part of a stored response', get('Range: bytes=0-0\r\n'), cached, 1],
  [200, null, 'a response with fields that the gateway sets', get(by('any')), withKeys],
]

/** The fields that a response of any HTTP server has. */
const plain = 'content-type content-length content-range date connection keep-alive cache-control etag'.split(' ')

const checkers = new Map<PlainObject, Ajv2020>()

/** Returns what checks by the schemas of a document; that it is one is shown elsewhere. */
const ajvOf = (document: PlainObject): Ajv2020 => {
  const known = checkers.get(document)
  if (known !== undefined) return known
  const ajv = new Ajv2020({ strict: false, allErrors: true, meta: false, validateSchema: false })
  checkers.set(document, ajv.addSchema({ ...document }, 'document'))
  return ajv
}

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
  const fits = type.endsWith('json') ? ajvOf(document).compile(rooted) : null
  fits?.(JSON.parse(response.body))
  return [
    ...(stated.description === undefined ? [`no status ${response.status}`] : []),
    ...unstated.map((name) => `${name} is not stated`),
    ...missing.map(([name]) => `${name} is missing`),
    ...(fits?.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`),
  ]
}

const operationOf = (request: string): Operation =>
  allOperations.find(({ path }) => request.includes(path)) as Operation

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

const documents = new Map<Settings, PlainObject>()

/** Returns the document of these settings, which is made once. */
const describing = (settings: Settings): PlainObject => {
  const document = documents.get(settings) ?? documentOf({ upstream: upstream.url, ...settings })
  documents.set(settings, document)
  return document
}

/** Sends a request, and returns what came back and what is wrong with it by the document of these settings. */
const askAndCompare = async (port: number, request: string, settings: Settings) => {
  const text = await exchangeRaw(port, request)
  const { response } = parseResponse(text, 'GET') ?? { response: null }
  if (response === null) throw new Error(`no response: ${text}`)
  const wrong = deviations(response, describing(settings), operationOf(request))
  return { ...response, code: /"code":"([a-z-]+)"/.exec(response.body)?.[1] ?? null, wrong }
}

test.each(cases)(
  '%i %s for %s fits its description',
  async (status, code, _, request, settings = plainly, before = 0) => {
    const port = await portWith(settings)
    for (let i = 0; i < before; i++) await exchangeRaw(port, request.replace(/If-None-Match.*\r\n|Range.*\r\n/, ''))

    expect(await askAndCompare(port, request, settings)).toMatchObject({ status, code, wrong: [] })
  },
)

test.each([200, 502])('%i of a group whose responses name the side fits its description', async (status) => {
  const url = status === 200 ? upstream.url : 'http://127.0.0.1:1'
  const candidate = { endpoints: [url], share: '100%', expose: 'X-Upstream-Side' }
  const settings = { upstreams: { market: { endpoints: [url], candidate } } }

  const response = await askAndCompare((await bootGateway(settings)).port, get(), settings)

  expect(response).toMatchObject({ status, wrong: [] })
  expect(headerValues(response, 'x-upstream-side')).toHaveLength(1)
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
  const request = post(`Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n`, body)

  expect(await askAndCompare(await portWith(enforced), request, enforced)).toMatchObject({ status, code, wrong: [] })
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

  const same = await askAndCompare(port, post(once, 'a'), settings)
  resolve()
  await first
  const other = await askAndCompare(port, post(once, 'b'), settings)

  expect([same.status, other.status, ...same.wrong, ...other.wrong]).toEqual([409, 422])
  expect(headerValues(same, 'retry-after')).toEqual(['1'])
})

test.each<[status: number, code: string, request: string, respond: string | null, settings: Settings]>([
  [502, 'truncated', post(once, 'a'), 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', keyed],
  [504, 'headers-timeout', get(), null, { defaults: { timeouts: { headers: '100ms' } } }],
])('%i %s of a broken upstream fits its description', async (status, code, request, respond, more) => {
  const broken = await rawUpstream((socket) => onRequest(socket, () => void (respond !== null && socket.end(respond))))
  const settings = { upstream: broken.url, ...more }

  expect(await askAndCompare((await bootGateway(settings)).port, request, settings)).toMatchObject({
    status,
    code,
    wrong: [],
  })
})

test('a key that is required is a parameter that is required', () => {
  const key = (settings: Settings) => at(documentOf(settings), '/components/parameters/IdempotencyKey')

  expect(key(keyed)).toMatchObject({ in: 'header', required: true })
  expect(key({ operations: { 'valuation.score': { idempotency: true } } })).not.toHaveProperty('required')
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
