/** What `contract.unchecked: reject` does with messages that cannot be checked, beside the features around it. */
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { jsonOf } from '../../../features/contract/compile/loading.ts'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { respondJson } from '../../../helpers/json-responder.ts'
import { bootLiveGateway, fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const closing = 'Connection: close'
const head = (type: string, ...fields: readonly string[]): string =>
  ['POST /valuation/score HTTP/1.1', 'Host: gateway', `Content-Type: ${type}`, ...fields, '', ''].join('\r\n')
const post = (body: string, ...fields: readonly string[]): string =>
  head('application/json', `Content-Length: ${body.length}`, closing, ...fields) + body
const chunked = (body: string, ...fields: readonly string[]): string =>
  head('application/json', 'Transfer-Encoding: chunked', closing, ...fields) +
  `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

const grade = '{"grade":"A"}'
const good = '{"id":"a"}'
const long = `{"id":"a"${' '.repeat(200_000)}}`
/** Each level is tried in three branches. */
const nest = `${'{"op":"and","args":['.repeat(40)}{"op":"x"}${']}'.repeat(40)}`

interface Responding extends NonNullable<Parameters<typeof respondJson>[1]> {
  readonly body?: string | Buffer
}

const respond = ({ body = grade, ...more }: Responding = {}) => respondJson(body, more)

const score = sampleContract.paths['/valuation/score'].post
const node = { $ref: '#/components/schemas/Node' }
const tree = { requestBody: jsonOf(node), responses: { 200: { description: 'ok', ...jsonOf(node) } } }
const anyType = { content: { '*/*': { schema: { type: 'object' } }, 'text/csv': { schema: { type: 'string' } } } }
const operators = ['and', 'or', 'not'].map((op) => ({
  type: 'object',
  required: ['op'],
  properties: { args: { type: 'array', items: node }, op: { const: op } },
}))
const document = {
  ...sampleContract,
  paths: {
    '/valuation/score': { post: score },
    '/valuation/forecast': { post: tree },
    '/financing/pre-approval': { post: score },
    '/risk/asset-valuation': { post: { requestBody: anyType, responses: {} } },
    '/inventory/sync': { post: { ...tree, responses: { 200: { description: 'synced' } } } },
  },
  components: { schemas: { ...sampleContract.components.schemas, Node: { oneOf: operators } } },
}

const enforce = { request: 'enforce', response: 'enforce', unchecked: 'reject', maxBody: '1KiB' }

const shared = liveGatewayForAll({
  contract: { file: contractFile(document, afterAll), ...enforce },
  defaults: { retry: { attempts: 3, backoff: { base: '1ms', max: '1ms' } } },
  operations: {
    'valuation.score': { idempotency: { onUnknown: 'forward' } },
    'financing.pre-approval': { maxBody: '100B' },
    'risk.asset-valuation': { contract: { response: 'off' } },
    'inventory.sync': { contract: { unchecked: 'pass' } },
  },
})

const send = async (bytes: string, path = '/valuation/score') => {
  const text = await exchangeRaw(shared.port, bytes.replace('/valuation/score', path))
  return { text, status: parseStatus(text), problem: (): unknown => JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) }
}

describe('a request', () => {
  test('with a coding gets 415, and is told which coding is taken', async () => {
    shared.respondWith(respond())

    const { text, status, problem } = await send(post(good, 'Content-Encoding: gzip'))

    const detail = 'the body must have no content coding'
    expect(status).toBe(415)
    expect(text).toContain('Accept-Encoding: identity\r\n')
    const errors = [{ pointer: '/content-encoding', in: 'header', rule: 'coded', detail }]
    expect(problem()).toMatchObject({ code: 'unsupported-media-type', errors })
    expect(shared.begun()).toBe(0)
  })

  test.each([
    ['that says so', post(long, 'Idempotency-Key: a')],
    ['that is chunked', chunked(long, 'Idempotency-Key: a')],
  ])('over contract.maxBody, %s, gets 413, and no endpoint sees it', async (_, bytes) => {
    shared.respondWith(respond())

    const { status, problem } = await send(bytes)

    expect(status).toBe(413)
    expect(problem()).toMatchObject({ code: 'content-too-large', errors: [{ in: 'body', rule: 'too-large' }] })
    expect(shared.begun()).toBe(0)
    const line = await shared.live.line(({ failure }) => failure === 'content-too-large')
    expect(line).toMatchObject({ reason: 'contract-body-too-large', attempts: 0 })
  })

  test('over contract.maxBody is not asked for by 100 Continue', async () => {
    const expecting = ['Content-Length: 5000', 'Expect: 100-continue', closing]
    const { text, status } = await send(head('application/json', ...expecting))

    expect([status, text.includes('100 Continue')]).toEqual([413, false])
  })

  test('over the maxBody of its operation gets the same status for the reason of that key', async () => {
    shared.respondWith(respond())
    const beyond = `{"id":"a"${' '.repeat(100)}}`
    const statuses = []
    for (const bytes of [post(beyond), chunked(beyond), post(good)])
      statuses.push((await send(bytes, '/financing/pre-approval')).status)

    expect(statuses).toEqual([413, 413, 200])
    const lines = shared.live.lines.filter(({ operation }) => operation === 'financing.pre-approval')
    expect(lines).toMatchObject([{ reason: 'body-too-large-declared' }, { reason: 'body-too-large-streamed' }, {}])
  })

  // Where a schema holds for every type.
  test.each([
    ['text/plain', 415],
    ['text/csv', 200],
    ['application/json', 200],
  ])('of the type %s gets %i where text/csv is named', async (type, status) => {
    shared.respondWith(respond())

    expect((await send(`${head(type, 'Content-Length: 2', closing)}{}`, '/risk/asset-valuation')).status).toBe(status)
  })

  test.each([
    ['coded', good, post(good, 'Content-Encoding: gzip')],
    ['too large', long, chunked(long)],
    ['too complex', nest, post(nest)],
  ])('that is %s passes as it came where the operation says so', async (_, body, bytes) => {
    shared.respondWith(respond())

    expect((await send(bytes, '/inventory/sync')).status).toBe(200)
    expect(shared.received().map((each) => each.body.toString())).toEqual([body])
  })

  test('that takes too long to check gets 400, and such a response becomes 502', async () => {
    shared.respondWith(respond({ body: nest }))
    const request = await send(post(nest), '/valuation/forecast')
    const response = await send(post('{"op":"and"}'), '/valuation/forecast')

    expect([request.status, response.status]).toEqual([400, 502])
    expect(request.problem()).toMatchObject({ code: 'invalid-request', errors: [{ in: 'body', rule: 'complexity' }] })
  })
})

describe('a response', () => {
  const coded = ['Content-Encoding', 'gzip']

  test.each<[string, Responding, string]>([
    ['with a coding', { fields: coded, body: gzipSync(grade) }, 'header /content-encoding coded'],
    ['that is a part', { status: 206, fields: ['Content-Range', 'bytes 0-12/100'] }, 'status partial'],
    ['of several ranges', { status: 206, type: 'multipart/byteranges; boundary=a', body: '--a--' }, 'status partial'],
    ['over contract.maxBody', { body: `{"grade":"A"${' '.repeat(200_000)}}` }, 'body too-large'],
  ])('%s gets 502, and the log says why', async (_, responding, cause) => {
    shared.respondWith(respond(responding))
    const { status, problem } = await send(post(good))

    expect(status).toBe(502)
    expect(problem()).not.toHaveProperty('errors')
    await shared.live.line((line) => line.failure === 'invalid-response' && String(line.cause).startsWith(cause))
  })
})

test('what was rejected is in the audit log and in a row of its own, is not learned, and the next request is served', async () => {
  const log = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({
    upstream: (await httpUpstream(respond())).url,
    contract: { file: contractFile(), ...enforce, learn: true },
    audit: log.settings,
  })
  const { port } = live.gateway.address
  const client = await rawClient(port)

  client.send(post(good, 'Content-Encoding: br').replace(`${closing}\r\n`, '') + post(good))
  const { received } = await client.ended()
  await exchangeRaw(port, chunked(long))

  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415', 'HTTP/1.1 200'])
  await vi.waitFor(() => expect(log.lines()).toHaveLength(4), 30_000)
  expect(log.lines().slice(1)).toMatchObject([{ status: 415 }, { status: 200 }, { status: 413 }])
  const request = { checked: 3, broken: 2, rejected: 2, unchecked: { coded: 0, 'too-large': 0 } }
  const operations = { 'valuation.score': { request, response: { checked: 1, broken: 0 } } }
  const rows = [
    { rule: 'coded', pointer: '/content-encoding', count: 1 },
    { rule: 'too-large', in: 'body', count: 1 },
  ]
  await expect
    .poll(async () => (await fetchAdmin(`${live.admin}/contract`)).body)
    .toMatchObject({
      contract: { operations },
      rows: expect.arrayContaining(rows.map((row) => expect.objectContaining(row))),
    })
  const draft = await fetch(`${live.admin}/contract/draft`).then((response) => response.text())
  expect(draft).toContain('"operationId":"valuation.score","tags":["valuation"],"x-seen":"1 of 1"')
})
