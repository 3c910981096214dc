/** What `contract.unchecked: refuse` does with messages that cannot be checked, beside the features around it. */
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
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

interface Answering {
  readonly status?: number
  readonly type?: string
  readonly fields?: readonly string[]
  readonly body?: string | Buffer
}

const upstreamOf = ({ status = 200, type = 'application/json', fields = [], body = grade }: Answering = {}) =>
  httpUpstream((_, response) => {
    response.writeHead(status, ['Content-Type', type, ...fields])
    response.end(body)
  })

const enforce = { request: 'enforce', response: 'enforce', unchecked: 'refuse', maxBody: '1KiB' }

const boot = async (settings: Settings = {}, answering: Answering = {}, document: unknown = sampleContract) => {
  const upstream = await upstreamOf(answering)
  const contract = { file: contractFile(document), ...enforce, ...settings.contract }
  return { gateway: await bootGateway({ upstream: upstream.url, ...settings, contract }), upstream }
}

const problemOf = (text: string): unknown => JSON.parse(text.slice(text.indexOf('\r\n\r\n')))

describe('a request', () => {
  test('with a coding gets 415, and is told which coding is taken', async () => {
    const { gateway, upstream } = await boot()

    const text = await exchangeRaw(gateway.port, post(good, 'Content-Encoding: gzip'))

    expect(parseStatus(text)).toBe(415)
    expect(text).toContain('Accept-Encoding: identity\r\n')
    expect(problemOf(text)).toMatchObject({
      code: 'unsupported-media-type',
      errors: [
        { pointer: '/content-encoding', in: 'header', rule: 'coded', detail: 'the body has to come without a coding' },
      ],
    })
    expect(upstream.begun()).toBe(0)
  })

  test.each([
    ['that says so', post(long)],
    ['that is chunked', chunked(long)],
  ])('over contract.maxBody, %s, gets 413, and no endpoint sees it', async (_, bytes) => {
    const { gateway, upstream } = await boot({
      operations: { 'valuation.score': { idempotency: { onUnknown: 'forward' } } },
      defaults: { retry: { attempts: 3, backoff: { base: '1ms', max: '1ms' } } },
    })

    const text = await exchangeRaw(gateway.port, bytes.replace(closing, `${closing}\r\nIdempotency-Key: a`))

    expect(parseStatus(text)).toBe(413)
    expect(problemOf(text)).toMatchObject({ code: 'content-too-large', errors: [{ in: 'body', rule: 'too-large' }] })
    expect(upstream.begun()).toBe(0)
    const line = await gateway.line(({ failure }) => failure === 'content-too-large')
    expect([line.reason, line.attempts]).toEqual(['contract-body-too-large', 0])
  })

  test('over contract.maxBody is not asked for by 100 Continue', async () => {
    const { gateway } = await boot()

    const text = await exchangeRaw(
      gateway.port,
      head('application/json', 'Content-Length: 5000', 'Expect: 100-continue', closing),
    )

    expect([parseStatus(text), text.includes('100 Continue')]).toEqual([413, false])
  })

  test('over the maxBody of its operation gets the same status for the reason of that key', async () => {
    const { gateway } = await boot({ operations: { 'valuation.score': { maxBody: '100B' } } })

    expect(parseStatus(await exchangeRaw(gateway.port, post(`{"id":"a"${' '.repeat(100)}}`)))).toBe(413)
    expect(parseStatus(await exchangeRaw(gateway.port, chunked(`{"id":"a"${' '.repeat(100)}}`)))).toBe(413)
    expect(parseStatus(await exchangeRaw(gateway.port, post(good)))).toBe(200)
    const lines = gateway.lines.filter(({ failure }) => failure === 'content-too-large')
    expect(lines.map(({ reason }) => reason)).toEqual(['body-too-large-declared', 'body-too-large-streamed'])
  })

  test('of another type gets 415 where a schema holds for every type, and passes where the type is named', async () => {
    const document = structuredClone<{ paths: Record<string, unknown> }>(sampleContract)
    const content = { '*/*': { schema: { type: 'object' } }, 'text/csv': { schema: { type: 'string' } } }
    document.paths['/valuation/score'] = { post: { requestBody: { content }, responses: {} } }
    const { gateway } = await boot({}, {}, document)
    const send = async (type: string): Promise<number> =>
      parseStatus(await exchangeRaw(gateway.port, `${head(type, 'Content-Length: 2', closing)}{}`))

    expect([await send('text/plain'), await send('text/csv'), await send('application/json')]).toEqual([415, 200, 200])
  })

  test('passes where the operation says so', async () => {
    const { gateway } = await boot({ operations: { 'valuation.score': { contract: { unchecked: 'pass' } } } })

    expect(parseStatus(await exchangeRaw(gateway.port, post(good, 'Content-Encoding: gzip')))).toBe(200)
    expect(parseStatus(await exchangeRaw(gateway.port, chunked(long)))).toBe(200)
  })

  test('passes in report mode', async () => {
    const { gateway } = await boot({ contract: { request: 'report' } })

    expect(parseStatus(await exchangeRaw(gateway.port, post(good, 'Content-Encoding: gzip')))).toBe(200)
  })

  test('that was refused is in the audit log with its status, and the next one on its connection is served', async () => {
    const log = createAuditLog(onTestFinished)
    const upstream = await upstreamOf()
    const live = await bootLiveGateway({
      upstream: upstream.url,
      contract: { file: contractFile(), ...enforce },
      audit: log.settings,
    })
    const client = await rawClient(live.gateway.address.port)

    client.send(post(good, 'Content-Encoding: br').replace(`${closing}\r\n`, '') + post(good))

    const { received } = await client.ended()
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415', 'HTTP/1.1 200'])
    await vi.waitFor(() => expect(log.lines()).toHaveLength(3), 30_000)
    expect(log.lines().slice(1)).toMatchObject([{ status: 415 }, { status: 200 }])
  })
})

describe('what takes too long to check', () => {
  const node = {
    oneOf: ['and', 'or', 'not'].map((op) => ({
      type: 'object',
      required: ['op'],
      properties: { args: { type: 'array', items: { $ref: '#/components/schemas/Asset' } }, op: { const: op } },
    })),
  }
  const nest = `${'{"op":"and","args":['.repeat(40)}{"op":"x"}${']}'.repeat(40)}`
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Asset' } } }
  const document = {
    ...sampleContract,
    paths: {
      '/valuation/score': {
        post: { requestBody: { content }, responses: { 200: { description: 'scored', content } } },
      },
    },
    components: { schemas: { Asset: node } },
  }
  const roomy = { maxBody: '1MiB' }

  test('passes unchecked', async () => {
    const { gateway } = await boot({ contract: { ...roomy, unchecked: 'pass' } }, { body: nest }, document)

    expect(parseStatus(await exchangeRaw(gateway.port, post(nest)))).toBe(200)
    expect(gateway.lines.filter(({ failure }) => failure !== undefined)).toEqual([])
  })

  test('gets 400 as a request, and becomes 502 as a response, where that is refused', async () => {
    const { gateway } = await boot({ contract: roomy }, { body: nest }, document)

    const request = await exchangeRaw(gateway.port, post(nest))
    const response = await exchangeRaw(gateway.port, post('{"op":"and"}'))

    expect([parseStatus(request), parseStatus(response)]).toEqual([400, 502])
    expect(problemOf(request)).toMatchObject({ code: 'invalid-request', errors: [{ in: 'body', rule: 'complexity' }] })
  })
})

const ranges = { status: 206, type: 'multipart/byteranges; boundary=a', body: '--a--' }

describe('a response', () => {
  test.each([
    [
      'with a coding',
      { fields: ['Content-Encoding', 'gzip'], body: gzipSync(grade) },
      'header /content-encoding coded',
    ],
    ['that is a part', { status: 206, fields: ['Content-Range', 'bytes 0-12/100'] }, 'status partial'],
    ['of several ranges', ranges, 'status partial'],
    ['over contract.maxBody', { body: `{"grade":"A"${' '.repeat(200_000)}}` }, 'body too-large'],
  ])('%s gets 502, and the log says why', async (_, answering, cause) => {
    const { gateway } = await boot({}, answering)

    const text = await exchangeRaw(gateway.port, post(good))

    expect(parseStatus(text)).toBe(502)
    expect(problemOf(text)).not.toHaveProperty('errors')
    const line = await gateway.line(({ failure }) => failure === 'invalid-response')
    expect(line.cause).toMatch(cause)
  })

  test('of several ranges passes where what is unchecked does', async () => {
    const { gateway } = await boot({ contract: { unchecked: 'pass' } }, ranges)

    const text = await exchangeRaw(gateway.port, post(good))

    expect([parseStatus(text), text.includes('\r\n--a--')]).toEqual([206, true])
  })

  test('is not stored, and the stored one stands in for it where stale-if-error allows that', async () => {
    const schema = { type: 'object' }
    const document = structuredClone<{ paths: Record<string, unknown> }>(sampleContract)
    document.paths['/market/insights'] = {
      get: { responses: { 200: { description: 'insights', content: { 'application/json': { schema } } } } },
    }
    const answers: readonly Answering[] = [
      { fields: ['Cache-Control', 'max-age=60', 'Content-Encoding', 'gzip'], body: gzipSync('{}') },
      { fields: ['Cache-Control', 'max-age=60, stale-if-error=600', 'Age', '61'], body: '{"a":1}' },
      { fields: ['Cache-Control', 'max-age=60', 'Content-Encoding', 'gzip'], body: gzipSync('{}') },
    ]
    let at = 0
    const upstream = await httpUpstream((_, response) => {
      const { fields = [], body = '' } = answers[at++] ?? {}
      response.writeHead(200, ['Content-Type', 'application/json', ...fields])
      response.end(body)
    })
    const gateway = await bootGateway({
      upstream: upstream.url,
      contract: { file: contractFile(document), ...enforce },
      operations: { 'market.insights': { cache: true } },
    })

    const got = [await call(gateway.port), await call(gateway.port), await call(gateway.port)]

    expect(got.map(({ status }) => status)).toEqual([502, 200, 200])
    expect(got[2]?.body.toString()).toBe('{"a":1}')
    expect(at).toBe(3)
  })
})

test('what was refused counts as broken and rejected, in a row of its own, and is not learnt', async () => {
  const upstream = await upstreamOf()
  const live = await bootLiveGateway({
    upstream: upstream.url,
    contract: { file: contractFile(), ...enforce, learn: true },
  })
  const { port } = live.gateway.address
  for (const bytes of [post(good), post(good, 'Content-Encoding: gzip'), chunked(long)]) await exchangeRaw(port, bytes)

  const asJson = (path: string): Promise<Record<string, unknown>> =>
    fetch(`${live.admin}${path}`).then((response) => response.json() as Promise<Record<string, unknown>>)
  await vi.waitFor(
    async () =>
      expect(await asJson('/contract')).toMatchObject({
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
