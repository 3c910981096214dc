import type { Socket } from 'node:net'
import { createServer } from 'node:tls'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import type { Upstream } from '../../../../src/core/upstream/upstream.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { fakeBody, fakeExchange } from '../../../helpers/exchange.ts'
import { listen } from '../../../helpers/listen.ts'
import { openTestUpstream, sendOutcome } from '../../../helpers/open-upstream.ts'
import { needProgram } from '../../../helpers/program.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'
import { eventually } from '../../../helpers/wire.ts'

const openssl = await needProgram('openssl')

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const cut = (socket: Socket): void => void socket.resetAndDestroy()
const respond = (socket: Socket): void => void socket.write(ok)

const get = fakeExchange
const post = () => fakeExchange({ operation: 'valuation.score', body: fakeBody(3) })
const sendGet = (upstream: Upstream) => sendOutcome(upstream, get())
const sendPost = (upstream: Upstream) => sendOutcome(upstream, post())
const inFlight = (upstream: Upstream) => upstream.members[0]?.endpoint.inFlight

/** Waits for the end of the current turn of the event loop: then a connection whose response has been read is idle. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Opens an upstream that notes its sockets and the methods it was asked for, and does with each as it is told. */
const openRecordingUpstream = async (
  handle: (socket: Socket, connection: number) => void = respond,
  more: Parameters<typeof openTestUpstream>[1] = { maxConnections: 1 },
) => {
  const heads: string[] = []
  const sockets: Socket[] = []
  const { url, accepted } = await rawUpstream((socket, connection) => {
    sockets.push(socket)
    onRequest(socket, (head) => {
      heads.push(head.split(' ')[0] ?? '')
      handle(socket, connection)
    })
  })
  return { heads, sockets, accepted, upstream: openTestUpstream(url, more) }
}

/** Opens one that has responded to the first request of its first connection, and calls `other` for every other. */
const responded = async (other: (socket: Socket, connection: number) => void) => {
  let isFirst = true
  const opened = await openRecordingUpstream((socket, connection) => {
    if (isFirst) respond(socket)
    else other(socket, connection)
    isFirst = false
  })
  await sendGet(opened.upstream)
  return opened
}

describe('a connection that is closed for having been idle, when a request goes out on it', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['cut', cut],
    ['ended', (socket) => void socket.end()],
  ])('(%s) costs a GET nothing: it is sent once more, on a fresh one', async (_, close) => {
    const { upstream, heads, accepted } = await responded((socket, nth) => (nth === 0 ? close : respond)(socket))
    const exchange = get()

    expect(await sendOutcome(upstream, exchange)).toBe(200)
    expect([heads, accepted(), exchange.attempts.count]).toEqual([['GET', 'GET', 'GET'], 2, 2])
  })

  test.each([
    ['a POST, which is never sent twice', post, ['GET', 'POST']],
    ['a GET of which the second attempt is cut as well', get, ['GET', 'GET', 'GET']],
  ])('fails %s', async (_, make, expected) => {
    const { upstream, heads } = await responded(cut)

    expect(await sendOutcome(upstream, make())).toBe('reset-before-headers')
    expect(heads).toEqual(expected)
  })
})

test.each([
  ['GET', get],
  ['POST', post],
])('an idle connection that is reset before a %s went out on it costs it nothing', async (_, make) => {
  const { upstream, sockets } = await openRecordingUpstream()
  const outcomes: unknown[] = []

  for (let round = 0; round < 3; round++) {
    await sendGet(upstream)
    await turn()
    sockets.at(-1)?.resetAndDestroy()
    outcomes.push(await sendOutcome(upstream, make()))
  }

  expect(outcomes).toEqual([200, 200, 200])
})

test('a fresh connection that is cut fails a GET at once', async () => {
  const { upstream, accepted } = await openRecordingUpstream(cut)

  expect([await sendGet(upstream), accepted()]).toEqual(['reset-before-headers', 1])
})

test('a reused connection on which something came back is not stale', async () => {
  const { upstream, heads } = await responded((socket) => socket.write('HTTP/1.1 2', () => cut(socket)))

  expect(await sendGet(upstream)).toMatch(/reset-before-headers|bad-response/)
  expect(heads).toEqual(['GET', 'GET'])
})

test('a client that leaves while its GET is sent again ends it', async () => {
  const { upstream, heads, accepted } = await responded((socket, nth) => (nth === 0 ? cut(socket) : undefined))
  const exchange = get()
  const running = sendOutcome(upstream, exchange)
  await eventually(() => heads.length === 3)

  exchange.abort(new GatewayError('client-gone'))

  expect([await running, accepted(), inFlight(upstream)]).toEqual(['client-gone', 2, 0])
})

test('a GET that is cut with its endpoint is not sent again', async () => {
  const { upstream, heads, accepted } = await responded(() => {})
  const running = sendGet(upstream)
  await eventually(() => heads.length === 2)

  await upstream.members[0]?.endpoint.destroy(new Error('shut down'))

  expect([await running, heads, accepted()]).toEqual(['reset-before-headers', ['GET', 'GET'], 1])
})

describe('a connection that is closed for having been idle, in the moment before a POST is written', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
  })

  /**
   * Opens an upstream whose connection has been idle for a second by the gateway's clock. What then is done to
   * `sockets` happens in the moment before the next request is written: the event loop does not notice it in between.
   */
  const idle = async (more: Parameters<typeof openTestUpstream>[1] = {}) => {
    const opened = await openRecordingUpstream(respond, more)
    await sendGet(opened.upstream)
    await turn()
    vi.advanceTimersByTime(1000)
    const [socket] = opened.sockets as [Socket]
    return { ...opened, socket }
  }

  test.each<[string, (socket: Socket) => void]>([
    ['closed', (socket) => socket.destroy()],
    ['cut', cut],
    ['sent 408', (socket) => socket.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n')],
  ])('(%s) costs the POST nothing: it goes out on another, once', async (_, strike) => {
    const { upstream, heads, accepted, socket } = await idle()
    const exchange = post()

    strike(socket)

    expect(await sendOutcome(upstream, exchange)).toBe(200)
    expect([heads, accepted(), exchange.attempts.count]).toEqual([['GET', 'POST'], 2, 1])
  })

  test.skipIf(openssl.missing !== null)('costs the POST nothing over TLS either', async () => {
    const sockets: Socket[] = []
    const server = createServer(makeCertificates(openssl.path ?? '').authority, (socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      onRequest(socket, () => respond(socket))
    })
    const url = `https://127.0.0.1:${await listen(server)}`
    const upstream = openTestUpstream(url, { tls: { ...upstreamConfig(url).tls, verify: false } })
    await sendGet(upstream)
    await turn()
    vi.advanceTimersByTime(1000)

    sockets[0]?.destroy()

    expect([await sendPost(upstream), await sendPost(upstream), sockets.length]).toEqual([200, 200, 2])
  })

  test.each<[string, (socket: Socket) => void, number]>([
    ['is used by the next POST', () => {}, 1],
    ['that is closed costs the next POST nothing', (socket) => void socket.destroy(), 2],
  ])('when its first client left before it was made, one %s', async (_, strike, connections) => {
    const { upstream, sockets, accepted } = await openRecordingUpstream()
    const left = get()
    const leaving = sendOutcome(upstream, left)
    left.abort(new GatewayError('client-gone'))
    await leaving
    await eventually(() => accepted() === 1)
    for (let turns = 0; turns < 3; turns++) await turn() // the gateway notices it after its upstream
    vi.advanceTimersByTime(1000)

    sockets.forEach(strike)

    expect([await sendPost(upstream), accepted()]).toEqual([200, connections])
  })

  test('leaves a POST its slot before those that wait, and the slot is free afterwards', async () => {
    const { upstream, socket } = await idle({ maxConnections: 1, maxPending: 1 })

    socket.destroy()
    const outcomes = await Promise.all(Array.from({ length: 3 }, () => sendPost(upstream)))

    expect([...outcomes, await sendPost(upstream)]).toEqual([200, 200, 'overloaded', 200])
    expect(inFlight(upstream)).toBe(0)
  })

  test('ends a POST with its own reason when its client leaves in that moment', async () => {
    const { upstream, heads, socket } = await idle()
    const exchange = post()

    socket.destroy()
    exchange.abort(new GatewayError('client-gone'))

    expect(await sendOutcome(upstream, exchange)).toBe('client-gone')
    await turn()
    expect([heads, inFlight(upstream)]).toEqual([['GET'], 0])
  })
})

const namingItsEnd = ok.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=1\r\n\r\n')

test.each([
  ['until a quarter of its time is left', ok, false, 1124, 1126],
  ['until then even when the timer that closes it is late', ok, true, 1124, 1126],
  ['until half a second before the end that its response names, where that is earlier', namingItsEnd, false, 499, 501],
])('an idle connection is used %s, and not afterwards', async (_, response, isTimerLate, within, afterwards) => {
  /** Sends a second request so long after the first, and returns how many connections the two had. */
  const connectionsAfter = async (ms: number): Promise<number> => {
    vi.useFakeTimers({ toFake: isTimerLate ? ['performance'] : ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { upstream, accepted } = await openRecordingUpstream((socket) => socket.write(response), { keepAlive: 1500 })
    await sendGet(upstream)
    await turn()
    vi.advanceTimersByTime(ms)
    expect(await sendGet(upstream)).toBe(200)
    return accepted()
  }

  expect([await connectionsAfter(within), await connectionsAfter(afterwards)]).toEqual([1, 2])
})

test('a response that comes before all of a large body was written leaves its connection to no other request', async () => {
  const opened = await rawUpstream((socket) =>
    onRequest(socket, (head) => {
      if (head.startsWith('POST')) socket.pause() // the rest stays unread
      respond(socket)
    }),
  )
  const upstream = openTestUpstream(opened.url)
  const large = fakeExchange({ operation: 'valuation.score', body: fakeBody(32 * 1024 * 1024) })

  expect([await sendOutcome(upstream, large), await sendGet(upstream), opened.accepted()]).toEqual([200, 200, 2])
})

test('a response that comes before the rest of an upload leaves its connection to no other request', async () => {
  // RFC 9112 §9.3: a server that does not read the content of a request has to close. This one may take the rest for
  // the next request, though the rest comes before its response has ended.
  const opened = await rawUpstream((socket) => {
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      if (text === '') socket.write(ok.slice(0, -2))
      text += chunk.toString('latin1')
      if (!text.endsWith(text.startsWith('GET') ? '\r\n\r\n' : '\r\n0\r\n\r\n')) return
      socket.write('ok')
      text = ''
    })
  })
  const upstream = openTestUpstream(opened.url)
  const hasResponded = Promise.withResolvers<void>()
  const upload = fakeExchange({ operation: 'valuation.score', body: fakeBody(null) })
  upload.body.stream = () => ({
    stop: () => {},
    async *[Symbol.asyncIterator]() {
      yield Buffer.from('a')
      await hasResponded.promise
      yield Buffer.from('b')
    },
  })

  const { body } = await upstream.send(upload)
  hasResponded.resolve()
  const ended = await new Promise((resolve) =>
    body.consume({ data: () => true, end: () => resolve('whole'), fail: ({ kind }) => resolve(kind) }),
  )

  expect([ended, await sendGet(upstream), opened.accepted()]).toEqual(['whole', 200, 2])
})
