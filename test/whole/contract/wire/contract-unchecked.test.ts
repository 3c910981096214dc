/** What `contract.unchecked: refuse` does with messages that cannot be checked, beside the features around it. */
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { bootLiveGateway, fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream, type Responder } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

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

interface Answering {
  readonly status?: number
  readonly type?: string
  readonly fields?: readonly string[]
  readonly body?: string | Buffer
}

const answer =
  ({ status = 200, type = 'application/json', fields = [], body = grade }: Answering = {}): Responder =>
  (_, response) => {
    response.writeHead(status, ['Content-Type', type, ...fields])
    response.end(body)
  }

const score = sampleContract.paths['/valuation/score'].post
const contentOf = (schema: object) => ({ content: { 'application/json': { schema } } })
const node = { $ref: '#/components/schemas/Node' }
const tree = { requestBody: contentOf(node), responses: { 200: { description: 'scored', ...contentOf(node) } } }
const anyType = { content: { '*/*': { schema: { type: 'object' } }, 'text/csv': { schema: { type: 'string' } } } }
const document = {
  ...sampleContract,
  paths: {
    '/valuation/score': { post: score },
    '/valuation/forecast': { post: tree },
    '/financing/pre-approval': { post: score },
    '/risk/asset-valuation': { post: { requestBody: anyType, responses: {} } },
    '/inventory/sync': { post: { ...tree, responses: { 200: { description: 'synced' } } } },
    '/market/insights': {
      get: { responses: { 200: { description: 'insights', ...contentOf({ type: 'object' }) } } },
    },
  },
  components: {
    schemas: {
      ...sampleContract.components.schemas,
      Node: {
        oneOf: ['and', 'or', 'not'].map((op) => ({
          type: 'object',
          required: ['op'],
          properties: { args: { type: 'array', items: node }, op: { const: op } },
        })),
      },
    },
  },
}

const enforce = { request: 'enforce', response: 'enforce', unchecked: 'refuse', maxBody: '1KiB' }

const shared = liveGatewayForAll({
  contract: { file: contractFile(document, afterAll), ...enforce },
  defaults: { retry: { attempts: 3, backoff: { base: '1ms', max: '1ms' } } },
  operations: {
    'valuation.score': { idempotency: { onUnknown: 'forward' } },
    'financing.pre-approval': { maxBody: '100B' },
    'risk.asset-valuation': { contract: { response: 'off' } },
    'inventory.sync': { contract: { unchecked: 'pass' } },
    'market.insights': { cache: true },
  },
})

const problemOf = (text: string): unknown => JSON.parse(text.slice(text.indexOf('\r\n\r\n')))
const sendTo = (path: string, bytes: string): Promise<string> =>
  exchangeRaw(shared.port, bytes.replace('/valuation/score', path))
const send = (bytes: string): Promise<string> => exchangeRaw(shared.port, bytes)

describe('a request', () => {
  test('with a coding gets 415, and is told which coding is taken', async () => {
    shared.answerWith(answer())

    const text = await send(post(good, 'Content-Encoding: gzip'))

    expect(parseStatus(text)).toBe(415)
    expect(text).toContain('Accept-Encoding: identity\r\n')
    expect(problemOf(text)).toMatchObject({
      code: 'unsupported-media-type',
      errors: [
        { pointer: '/content-encoding', in: 'header', rule: 'coded', detail: 'the body has to come without a coding' },
      ],
    })
    expect(shared.begun()).toBe(0)
  })

  test.each([
    ['that says so', post(long)],
    ['that is chunked', chunked(long)],
  ])('over contract.maxBody, %s, gets 413, and no endpoint sees it', async (_, bytes) => {
    shared.answerWith(answer())

    const text = await send(bytes.replace(closing, `${closing}\r\nIdempotency-Key: a`))

    expect(parseStatus(text)).toBe(413)
    expect(problemOf(text)).toMatchObject({ code: 'content-too-large', errors: [{ in: 'body', rule: 'too-large' }] })
    expect(shared.begun()).toBe(0)
    const line = await shared.live.line(({ failure }) => failure === 'content-too-large')
    expect([line.reason, line.attempts]).toEqual(['contract-body-too-large', 0])
  })

  test('over contract.maxBody is not asked for by 100 Continue', async () => {
    const text = await send(head('application/json', 'Content-Length: 5000', 'Expect: 100-continue', closing))

    expect([parseStatus(text), text.includes('100 Continue')]).toEqual([413, false])
  })

  test('over the maxBody of its operation gets the same status for the reason of that key', async () => {
    shared.answerWith(answer())
    const beyond = `{"id":"a"${' '.repeat(100)}}`
    const statusOf = async (bytes: string) => parseStatus(await sendTo('/financing/pre-approval', bytes))

    expect([await statusOf(post(beyond)), await statusOf(chunked(beyond)), await statusOf(post(good))]).toEqual([
      413, 413, 200,
    ])
    const lines = shared.live.lines.filter(
      ({ operation, failure }) => operation === 'financing.pre-approval' && failure !== undefined,
    )
    expect(lines.map(({ reason }) => reason)).toEqual(['body-too-large-declared', 'body-too-large-streamed'])
  })

  test('of another type gets 415 where a schema holds for every type, and passes where the type is named', async () => {
    shared.answerWith(answer())
    const statusOf = async (type: string): Promise<number> =>
      parseStatus(await sendTo('/risk/asset-valuation', `${head(type, 'Content-Length: 2', closing)}{}`))

    expect([await statusOf('text/plain'), await statusOf('text/csv'), await statusOf('application/json')]).toEqual([
      415, 200, 200,
    ])
  })

  test.each([
    ['coded', post(good, 'Content-Encoding: gzip')],
    ['too large', chunked(long)],
    ['too complex', post(nest)],
  ])('that is %s passes where the operation says so', async (_, bytes) => {
    shared.answerWith(answer())

    expect(parseStatus(await sendTo('/inventory/sync', bytes))).toBe(200)
  })

  test('that takes too long to check gets 400, and such a response becomes 502', async () => {
    shared.answerWith(answer({ body: nest }))

    const request = await sendTo('/valuation/forecast', post(nest))
    const response = await sendTo('/valuation/forecast', post('{"op":"and"}'))

    expect([parseStatus(request), parseStatus(response)]).toEqual([400, 502])
    expect(problemOf(request)).toMatchObject({ code: 'invalid-request', errors: [{ in: 'body', rule: 'complexity' }] })
  })
})

describe('a response', () => {
  test.each([
    [
      'with a coding',
      { fields: ['Content-Encoding', 'gzip'], body: gzipSync(grade) },
      'header /content-encoding coded',
    ],
    ['that is a part', { status: 206, fields: ['Content-Range', 'bytes 0-12/100'] }, 'status partial'],
    ['of several ranges', { status: 206, type: 'multipart/byteranges; boundary=a', body: '--a--' }, 'status partial'],
    ['over contract.maxBody', { body: `{"grade":"A"${' '.repeat(200_000)}}` }, 'body too-large'],
  ])('%s gets 502, and the log says why', async (_, answering, cause) => {
    shared.answerWith(answer(answering))

    const text = await send(post(good))

    expect(parseStatus(text)).toBe(502)
    expect(problemOf(text)).not.toHaveProperty('errors')
    await shared.live.line((line) => line.failure === 'invalid-response' && String(line.cause).startsWith(cause))
  })

  test('is not stored, and the stored one stands in for it where stale-if-error allows that', async () => {
    const answers: readonly Answering[] = [
      { fields: ['Cache-Control', 'max-age=60', 'Content-Encoding', 'gzip'], body: gzipSync('{}') },
      { fields: ['Cache-Control', 'max-age=60, stale-if-error=600', 'Age', '61'], body: '{"a":1}' },
      { fields: ['Cache-Control', 'max-age=60', 'Content-Encoding', 'gzip'], body: gzipSync('{}') },
    ]
    let at = 0
    shared.answerWith((request, response) => answer(answers[at++])(request, response))

    const got = [await call(shared.port), await call(shared.port), await call(shared.port)]

    expect(got.map(({ status }) => status)).toEqual([502, 200, 200])
    expect(got[2]?.body.toString()).toBe('{"a":1}')
    expect(at).toBe(3)
  })
})

test('what was refused is in the audit log and in a row of its own, is not learnt, and the next request is served', async () => {
  const log = createAuditLog(onTestFinished)
  const upstream = await httpUpstream(answer())
  const live = await bootLiveGateway({
    upstream: upstream.url,
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
  await vi.waitFor(
    async () =>
      expect((await fetchAdmin(`${live.admin}/contract`)).body).toMatchObject({
        contract: {
          operations: {
            'valuation.score': {
              request: { checked: 3, broken: 2, rejected: 2, unchecked: { coded: 0, 'too-large': 0 } },
              response: { checked: 1, broken: 0 },
            },
          },
        },
        rows: expect.arrayContaining([
          expect.objectContaining({ rule: 'coded', pointer: '/content-encoding', count: 1 }),
          expect.objectContaining({ rule: 'too-large', in: 'body', count: 1 }),
        ]),
      }),
    30_000,
  )
  const draft = await fetch(`${live.admin}/contract/draft`).then((response) => response.text())
  expect(draft).toContain('"operationId":"valuation.score","tags":["valuation"],"x-seen":"1 of 1"')
})
