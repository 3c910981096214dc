/** How an enforced request is read first, beside the features that also have a say in its body. */
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { FairQuota } from '../../../../src/core/lib/fair-quota.ts'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import {
  bootHttp2,
  dialHttp2,
  frame,
  frameClient,
  get,
  missing,
  head as requestHead,
  requestHttp2,
} from '../../../helpers/http2.ts'
import { respondJson } from '../../../helpers/json-responder.ts'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { sha256 as sha256Of } from '../../../helpers/wire.ts'

const head = (...fields: readonly string[]): string =>
  ['POST /valuation/score HTTP/1.1', 'Host: gateway', 'Content-Type: application/json', ...fields, '', ''].join('\r\n')
const closing = 'Connection: close'
const inChunks = 'Transfer-Encoding: chunked'
const chunked = (...texts: readonly string[]): string =>
  [...texts, ''].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('')
const withLength = (body: string, ...fields: readonly string[]): string =>
  head(`Content-Length: ${body.length}`, ...fields) + body
const to = (path: string, bytes: string): string => bytes.replace('/valuation/score', path)
const sha256 = (text: string): string => sha256Of(Buffer.from(text))

/** Keeps the contract, in so many bytes. */
const keeping = (bytes: number): string => `{"id":"a"${' '.repeat(bytes - 10)}}`
const large = keeping(200_000)

const grade = (status = 200) => respondJson('{"grade":"A"}', { status })

const score = sampleContract.paths['/valuation/score']
const scoring = ['/valuation/forecast', '/inventory/sync', '/financing/pre-approval', '/risk/asset-valuation']
const paths = { ...sampleContract.paths, ...Object.fromEntries(scoring.map((path) => [path, score])) }

// No connection is ever accepted there.
const rejecting = 'http://127.0.0.1:1'

const shared = liveGatewayForAll((upstream) => ({
  contract: { file: contractFile({ ...sampleContract, paths }, afterAll), request: 'enforce' },
  upstreams: {
    valuation: { endpoints: [upstream], retry: { on: [503], backoff: { base: '1ms', max: '1ms' } } },
    financing: { endpoints: [rejecting, upstream], balance: 'round-robin', outlier: 'none' },
    risk: rejecting,
  },
  operations: {
    'valuation.score': { idempotency: { onUnknown: 'forward' } },
    'valuation.forecast': { deadline: '200ms' },
    'inventory.sync': { maxBody: '1KiB' },
    'market.insights': { state: 'reject' },
  },
}))
const statusOf = async (bytes: string): Promise<number> => parseStatus(await exchangeRaw(shared.port, bytes))
const received = (): readonly string[] => shared.received().map((each) => each.sha256)
const enforced = () => ({ file: contractFile(), request: 'enforce', response: 'enforce' })

describe('Expect: 100-continue', () => {
  test('gets no response when the head breaks the contract already', async () => {
    const bytes = to('/valuation/score?mode=slow', head('Content-Length: 10', 'Expect: 100-continue', closing))
    const text = await exchangeRaw(shared.port, bytes)

    expect([parseStatus(text), text.includes('100 Continue')]).toEqual([400, false])
  })

  test('gets a response when the head keeps it, and the body is checked then', async () => {
    shared.respondWith(grade())
    const client = await rawClient(shared.port)
    client.send(head('Content-Length: 2', 'Expect: 100-continue', closing))

    await client.until((text) => text.endsWith('HTTP/1.1 100 Continue\r\n\r\n'))
    client.send('{}')

    expect((await client.ended()).received).toContain('HTTP/1.1 400 Bad Request')
    expect(shared.begun()).toBe(0)
  })
})

describe('a client', () => {
  test('that leaves in the middle is gone, and the upstream has seen nothing', async () => {
    shared.respondWith(grade())
    const client = await rawClient(shared.port)
    client.send(head(inChunks, 'Expect: 100-continue'))
    await client.until((text) => text.includes('100 Continue')) // it is being read
    client.close()

    expect(await shared.live.line(({ reason }) => reason === 'cut-short')).toBeDefined()
    expect(shared.begun()).toBe(0)
  })

  test('that stalls gets 408', async () => {
    const upstream = await httpUpstream(grade())
    const listen = { timeouts: { body: '300ms' } }
    const { port } = await bootGateway({ upstream: upstream.url, contract: enforced(), listen })
    const text = await exchangeRaw(port, head(inChunks) + chunked('{"id":').slice(0, -5))

    expect([parseStatus(text), upstream.begun()]).toEqual([408, 0])
  })

  test('that sends more than maxBody gets 413', async () => {
    shared.respondWith(grade())
    const bytes = head(inChunks, closing) + chunked(keeping(1500), 'x')

    expect([await statusOf(to('/inventory/sync', bytes)), shared.begun()]).toEqual([413, 0])
  })

  test('may send trailers, which end here', async () => {
    shared.respondWith(grade())
    const body = chunked('{"id":', '"a"}').replace(/\r\n$/, 'X-Trailer: secret\r\n\r\n')

    expect(await statusOf(head(inChunks, closing) + body)).toBe(200)
    expect(received()).toEqual([sha256('{"id":"a"}')])
    expect(JSON.stringify(shared.received())).not.toContain('secret')
  })

  test('may send its next request behind one that was rejected', async () => {
    shared.respondWith(grade())
    const client = await rawClient(shared.port)
    client.send(withLength('{}') + withLength('{"id":"a"}', closing))

    const { received } = await client.ended()
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200'])
    expect(shared.received()).toHaveLength(1)
  })
})

describe('what was read first', () => {
  test('goes to the next endpoint when the first refuses the connection', async () => {
    shared.respondWith(grade())
    const bodies = [large, large, keeping(2_000_000), keeping(2_000_000)] // the last two are beyond the bound
    for (const body of bodies)
      expect(await statusOf(to('/financing/pre-approval', withLength(body, closing)))).toBe(200)

    expect(received()).toEqual(bodies.map(sha256))
  })

  test('in small pieces, is sent again with its key after a 503, however large it is within the bound', async () => {
    const pieces = large.match(/.{1,999}/g) ?? []
    let left = 1
    shared.respondWith((request, response) => grade(left-- > 0 ? 503 : 200)(request, response))

    expect(await statusOf(head(inChunks, 'Idempotency-Key: a', closing) + chunked(...pieces))).toBe(200)
    expect(received()).toEqual([sha256(large), sha256(large)])
  })

  test('has a deadline from when it was complete, and no sooner', async () => {
    shared.respondWith(() => {})
    const client = await rawClient(shared.port)
    client.send(to('/valuation/forecast', head(inChunks, closing)) + chunked('{"id":').slice(0, -5))
    await new Promise((resolve) => setTimeout(resolve, 250)) // longer than the deadline

    client.send(chunked('"a"}'))

    expect((await client.ended()).received).toContain('504 Gateway Timeout')
    expect(shared.received()).toHaveLength(1)
  })

  test('has its digest in the audit log, forwarded or rejected', async () => {
    const log = createAuditLog(onTestFinished)
    const { port } = await bootGateway({
      upstream: (await httpUpstream(grade())).url,
      contract: enforced(),
      audit: { ...log.settings, digests: 'both' },
    })

    await exchangeRaw(port, head(inChunks, closing) + chunked(large))
    await exchangeRaw(port, withLength('{"a":1}', closing))

    const forwarded = { requestDigest: sha256(large), responseDigest: sha256('{"grade":"A"}') }
    const rejected = { requestDigest: sha256('{"a":1}') }
    await expect.poll(() => log.lines().slice(1)).toMatchObject([forwarded, rejected])
  })
})

test('a body beyond the bound that no endpoint takes gets its error, and the client may be still sending', async () => {
  const bytes = head(inChunks, closing) + chunked(...Array(30).fill(keeping(50_000)))

  expect(await statusOf(to('/risk/asset-valuation', bytes))).toBe(502)
})

test('an operation that is out of service checks nothing', async () => {
  expect(await statusOf(`GET /market/insights HTTP/1.1\r\nHost: gateway\r\n${closing}\r\n\r\n`)).toBe(503)
})

test('a request that is rejected has its reason and its places in the log', async () => {
  await statusOf(withLength('{"id":"planted"', closing))
  await statusOf(withLength('{"id":["planted"]}', closing).replace('score ', 'score?mode=fast '))

  const lines = shared.live.lines.filter(({ failure }) => failure === 'invalid-request').slice(-2)
  expect(lines.map(({ reason, cause }) => [reason, cause])).toEqual([
    ['contract-body', 'body json: the body must be JSON'],
    ['contract-body', 'body /id type: must be string'],
  ])
  expect(JSON.stringify(shared.live.lines)).not.toContain('planted')
})

describe.skipIf(missing !== null)('over HTTP/2', () => {
  test('a client gets the same', async () => {
    const upstream = await httpUpstream(grade())
    const gateway = await bootHttp2({ upstream: upstream.url, contract: enforced() })
    const session = dialHttp2(gateway.port)
    onTestFinished(() => session.destroy())
    const fields = { ':path': '/valuation/score', ':method': 'POST', 'content-type': 'application/json' }
    const send = (body: string) => requestHttp2(session, fields, body)

    const [good, bad] = [await send(large), await send('{"id":1}')]

    expect([good.status, bad.status]).toEqual([200, 400])
    expect(JSON.parse(bad.body.toString()).errors).toMatchObject([{ pointer: '/id', rule: 'type' }])
    expect(upstream.requests.map((each) => each.sha256)).toEqual([sha256(large)])
  })

  test('the rest of a body that comes behind its response takes no room', async () => {
    const { shareOf } = FairQuota.prototype
    const rooms = new Set<FairQuota>()
    const spy = vi.spyOn(FairQuota.prototype, 'shareOf').mockImplementation(function (this: FairQuota, owner) {
      rooms.add(this)
      return shareOf.call(this, owner)
    })
    onTestFinished(() => spy.mockRestore())
    const taken = (): number[] => [...rooms].map(({ used }) => used)
    const rejected = 'HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'
    const upstream = await rawUpstream((socket) => onRequest(socket, () => socket.write(rejected)))
    const { port, line } = await bootHttp2({ upstream: upstream.url, contract: { file: contractFile() } })
    const client = await frameClient(port)

    await client.send(
      requestHead(1, [...get('/valuation/score', 'POST'), 'content-type', 'application/json'], false),
      frame(0, 0, 1, Buffer.from('{')),
    )
    await line(({ status }) => status === 413)
    await expect.poll(taken).toEqual([0, 0]) // of requests and of responses: the check has been made
    await client.send(frame(0, 0, 1, Buffer.alloc(10_000, ' ')), frame(6, 0, 0, Buffer.alloc(8)))
    await client.frame(({ type }) => type === 6) // all before it has been received

    expect(taken()).toEqual([0, 0])
  })
})
