import { describe, expect, test } from 'vitest'
import { sideUpstreams, withCandidate } from '../../helpers/candidate.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { block, bootHttp2, frame, frameClient, get, missing } from '../../helpers/http2.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../helpers/raw-client.ts'
import { receivedNames, receivedValues } from '../../helpers/round-trip.ts'
import { httpUpstream, type ReceivedRequest } from '../../helpers/upstream.ts'
import { call, eventually, fieldValues } from '../../helpers/wire.ts'

// RFC 9110 §9.3.1: content received in a GET request has no generally defined semantics, cannot alter the meaning of
// the request, and might lead some implementations to reject it, because of request smuggling.

const content = Buffer.from('{"a":1}')
const head = (query = ''): string => `GET /market/insights${query} HTTP/1.1\r\nHost: a\r\n`

/** What names the framing of a request. */
const framingOf = (request: ReceivedRequest | undefined): readonly string[] =>
  receivedNames(request).filter((name) => ['content-length', 'transfer-encoding', 'expect'].includes(name))

describe.each(['reject', 'forward'])('a GET that has a body without content (getContent: %s)', (getContent) => {
  test('is forwarded without framing over HTTP/1.1', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { getContent } })
    const forms = [
      'Content-Length: 0\r\n\r\n',
      'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked\r\n\r\n000;a=b\r\nX: y\r\n\r\n',
      'Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ]

    for (const rest of forms) {
      const text = await exchangeRaw(port, head() + rest)
      expect(parseStatus(text.replace('HTTP/1.1 100 Continue\r\n\r\n', ''))).toBe(200)
    }
    expect(upstream.requests.map(framingOf)).toEqual(forms.map(() => []))
  })

  test.skipIf(missing !== null)('is forwarded without framing over HTTP/2', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootHttp2({ upstream: upstream.url, listen: { getContent } })
    const end = frame(0, 1, 1)
    const forms: readonly (readonly [fields: readonly string[], frames: readonly Buffer[]])[] = [
      [['content-length', '0'], [end]],
      [[], [end]],
      [[], [frame(0, 0, 1), frame(0, 0, 1), end]],
      [[], [frame(0, 9, 1, Buffer.from([3, 0, 0, 0]))]], // padding alone (RFC 9113 §6.1)
      [[], [frame(1, 5, 1, block('x', 'y'))]], // trailers alone
    ]

    for (const [fields, frames] of forms) {
      const client = await frameClient(port)
      await client.send(frame(1, 4, 1, block(...get(), ...fields)), ...frames)
      const head = await client.frame(({ type, stream }) => type === 1 && stream === 1)
      expect(head?.payload[0]).toBe(0x88) // RFC 7541 appendix A: `:status: 200`
    }
    expect(upstream.requests.map(framingOf)).toEqual(forms.map(() => []))
  })
})

test('a GET in chunks reaches the upstream when it has ended, and not before', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

  client.send(`${head('?1')}Transfer-Encoding: chunked\r\n\r\n`)
  await exchangeRaw(port, `${head('?2')}\r\n`)
  const before = upstream.begun()
  client.send('0\r\n\r\n')
  await client.until((text) => parseStatus(text) === 200)

  expect([before, upstream.requests.map(({ url }) => url)]).toEqual([1, ['/market/insights?2', '/market/insights?1']])
})

test('a GET with content is 400, and the log says why; the connection goes on behind a small one', async () => {
  const upstream = await httpUpstream()
  const { port, line } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

  client.send(`${head()}Content-Length: 7\r\n\r\n{"a":1}${head()}\r\n`)
  const text = await client.until((received) => received.includes('HTTP/1.1 200'))

  expect(parseStatus(text)).toBe(400)
  expect(text).toContain('"code":"bad-request"')
  const rejected = await line(({ status }) => status === 400)
  expect(rejected).toMatchObject({ reason: 'get-content', operation: 'market.insights' })
  expect(upstream.requests).toHaveLength(1)
})

test.each([
  ['that waits to send its content is rejected without 100 Continue', 'Expect: 100-continue\r\nContent-Length: 7', 400],
  ['whose body does not come in time is late', 'Transfer-Encoding: chunked', 408],
])('a GET %s (RFC 9110 §10.1.1)', async (_, fields, status) => {
  const { port } = await bootGateway({ listen: { timeouts: { body: '50ms' } } })
  const client = await rawClient(port)

  client.send(`${head()}${fields}\r\n\r\n`)

  expect(parseStatus((await client.ended()).received)).toBe(status)
})

test('the cache responds to a GET whose chunks have no content, and stores nothing for one with content', async () => {
  const fields = { 'Cache-Control': 'max-age=60' }
  const upstream = await httpUpstream((_, response) => void response.writeHead(200, fields).end('x'))
  const cached = { upstream: upstream.url, operations: { 'market.insights': { cache: {} } } }
  const { port } = await bootGateway({ ...cached, listen: { getContent: 'forward' } })
  const rejecting = await bootGateway(cached)

  await call(port, { body: content })
  await call(port)
  await call(port, { body: content })
  const withContent = upstream.requests.map(({ body }) => body.length)
  await call(rejecting.port)
  const stored = await call(rejecting.port, { body: Buffer.alloc(0), chunkBytes: 1 })

  expect(withContent).toEqual([7, 0, 7])
  expect([stored.status, fieldValues(stored.fields, 'age').length]).toEqual([200, 1])
  expect(upstream.requests).toHaveLength(4)
})

describe('where the file has the content of a GET forwarded', () => {
  const listen = { getContent: 'forward' }

  test.each([
    ['with a length', { body: content }],
    ['in chunks', { body: content, chunkBytes: 3 }],
  ])('it goes out on a connection that is never used again: %s', async (_, request) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen })

    for (const next of [{}, request, {}, {}]) expect((await call(port, next)).status).toBe(200)

    const connections = upstream.requests.flatMap((each) => receivedValues(each, 'connection'))
    expect(connections).toEqual(['keep-alive', 'close', 'keep-alive', 'keep-alive'])
    expect(upstream.requests[1]?.body).toEqual(content)
    expect(upstream.accepted()).toBe(2)
  })

  test('and so does each attempt of a retry', async () => {
    const upstream = await httpUpstream((_, response) =>
      response.writeHead(upstream.requests.length === 1 ? 503 : 200, { 'Content-Length': '0' }).end(),
    )
    const { port } = await bootGateway({ upstream: upstream.url, listen, defaults: { retry: { on: [503] } } })

    const { status } = await call(port, { body: content })
    await call(port)

    expect(status).toBe(200)
    expect(upstream.requests.map((each) => [receivedValues(each, 'connection'), each.body.length])).toEqual([
      [['close'], 7],
      [['close'], 7],
      [['keep-alive'], 0],
    ])
    expect(upstream.accepted()).toBe(3)
  })

  test('and so does the copy for a candidate', async () => {
    const { primary, candidate } = await sideUpstreams()
    const shadowed = withCandidate(primary.url, candidate.url, { shadow: { sample: '100%' } })
    const { port } = await bootGateway({ ...shadowed, listen })

    await call(port, { body: content })
    await eventually(() => candidate.requests.length === 1)

    expect(receivedValues(candidate.requests[0], 'connection')).toEqual(['close'])
    expect(candidate.requests[0]?.body).toEqual(content)
  })
})
