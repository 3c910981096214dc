import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:tls'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { fakeBody, fakeExchange } from '../../../helpers/exchange.ts'
import { openTestUpstream, sendOutcome } from '../../../helpers/open-upstream.ts'
import { needProgram } from '../../../helpers/program.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'
import { eventually } from '../../../helpers/wire.ts'

const openssl = await needProgram('openssl')

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Opens an upstream that responds to the first request of its first connection, and calls `other` for every other. */
const closing = async (other: (socket: Socket, connection: number) => void) => {
  const heads: string[] = []
  const opened = await rawUpstream((socket, connection) => {
    let first = connection === 0
    onRequest(socket, (head) => {
      heads.push(head.split(' ')[0] ?? '')
      if (first) socket.write(ok)
      else other(socket, connection)
      first = false
    })
  })
  return { heads, accepted: opened.accepted, upstream: openTestUpstream(opened.url, { maxConnections: 1 }) }
}

const cut = (socket: Socket): void => void socket.resetAndDestroy()
const postOf = (client: string) => fakeExchange({ client, operation: 'valuation.score', body: fakeBody(3) })
const post = () => postOf('127.0.0.1')

describe('a connection that is closed for having been idle, when a request goes out on it', () => {
  test.each([
    ['cut', cut],
    ['ended', (socket: Socket) => void socket.end()],
  ])('(%s) costs a GET nothing: it is sent once more, on a fresh one', async (_, close) => {
    const { upstream, heads, accepted } = await closing((socket, nth) => (nth === 0 ? close(socket) : socket.write(ok)))
    await sendOutcome(upstream, fakeExchange())
    const exchange = fakeExchange()

    expect(await sendOutcome(upstream, exchange)).toBe(200)

    expect(heads).toEqual(['GET', 'GET', 'GET'])
    expect(accepted()).toBe(2)
    expect(exchange.attempts.count).toBe(2)
  })

  test('fails a POST, which is never sent twice', async () => {
    const { upstream, heads } = await closing(cut)
    await sendOutcome(upstream, fakeExchange())

    expect(await sendOutcome(upstream, post())).toBe('reset-before-headers')

    expect(heads).toEqual(['GET', 'POST'])
  })

  test('fails a GET of which the second attempt is cut as well', async () => {
    const { upstream, heads } = await closing(cut)
    await sendOutcome(upstream, fakeExchange())

    expect(await sendOutcome(upstream, fakeExchange())).toBe('reset-before-headers')

    expect(heads).toEqual(['GET', 'GET', 'GET'])
  })
})

test.each([
  ['GET', () => fakeExchange()],
  ['POST', post],
])('an idle connection that is reset before a %s went out on it costs it nothing', async (_, made) => {
  const sockets: Socket[] = []
  const { url } = await rawUpstream((socket) => {
    sockets.push(socket)
    onRequest(socket, () => socket.write(ok))
  })
  const upstream = openTestUpstream(url, { maxConnections: 1 })
  const outcomes = new Set<number | string>()

  for (let round = 0; round < 3; round++) {
    await sendOutcome(upstream, fakeExchange())
    await new Promise((resolve) => setImmediate(resolve)) // the connection is idle then
    sockets.at(-1)?.resetAndDestroy()
    outcomes.add(await sendOutcome(upstream, made()))
  }

  expect([...outcomes]).toEqual([200])
})

test('a fresh connection that is cut fails a GET at once', async () => {
  const { url, accepted } = await rawUpstream((socket) => onRequest(socket, () => cut(socket)))
  const upstream = openTestUpstream(url)

  expect(await sendOutcome(upstream, fakeExchange())).toBe('reset-before-headers')

  expect(accepted()).toBe(1)
})

test('a reused connection on which something came back is not stale', async () => {
  const { upstream, heads } = await closing((socket) => socket.write('HTTP/1.1 2', () => cut(socket)))
  await sendOutcome(upstream, fakeExchange())

  expect(await sendOutcome(upstream, fakeExchange())).toMatch(/reset-before-headers|bad-response/)

  expect(heads).toEqual(['GET', 'GET'])
})

test('a client that leaves while its GET is sent again ends it', async () => {
  const { upstream, heads, accepted } = await closing((socket, nth) => (nth === 0 ? cut(socket) : undefined))
  await sendOutcome(upstream, fakeExchange())
  const exchange = fakeExchange()
  const running = sendOutcome(upstream, exchange)
  await eventually(() => heads.length === 3)

  exchange.abort(new GatewayError('client-gone'))

  expect(await running).toBe('client-gone')
  expect(accepted()).toBe(2)
  expect(upstream.members[0]?.endpoint.inFlight).toBe(0)
})

test('a GET that is cut with its endpoint is not sent again', async () => {
  const { upstream, heads, accepted } = await closing(() => {})
  await sendOutcome(upstream, fakeExchange())
  const exchange = fakeExchange()
  const running = sendOutcome(upstream, exchange)
  await eventually(() => heads.length === 2)

  await upstream.members[0]?.endpoint.destroy(new Error('shut down'))

  expect(await running).toBe('reset-before-headers')
  expect(heads).toEqual(['GET', 'GET'])
  expect(accepted()).toBe(1)
})

/** Waits for the end of the current turn of the event loop: then a connection whose response has been read is idle. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * Opens an upstream that responds to every request, with `uses` connections that have been idle for a second by the
 * gateway's clock. `strike` acts on each in the moment before the next request is written: the event loop does not
 * notice it in between.
 */
const idleUpstream = async (uses = 1, more: Parameters<typeof openTestUpstream>[1] = {}) => {
  const sockets: Socket[] = []
  const heads: string[] = []
  const held: (() => void)[] = []
  const opened = await rawUpstream((socket) => {
    sockets.push(socket)
    onRequest(socket, (head) => {
      heads.push(head.split(' ')[0] ?? '')
      if (held.length < uses) held.push(() => socket.write(ok))
      else socket.write(ok)
      if (held.length === uses) for (const response of held) response()
    })
  })
  const upstream = openTestUpstream(opened.url, more)
  await Promise.all(
    Array.from({ length: uses }, (_, n) => sendOutcome(upstream, fakeExchange({ client: `192.0.2.${n}` }))),
  )
  await turn()
  vi.advanceTimersByTime(1000)
  const idle = [...sockets]
  const strike = (how: (socket: Socket) => void): void => idle.forEach(how)
  return { ...opened, upstream, heads, strike }
}

describe('a connection that is closed for having been idle, in the moment before a POST is written', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
  })

  test.each<[string, (socket: Socket) => void]>([
    ['closed', (socket) => socket.destroy()],
    ['cut', cut],
    ['sent 408', (socket) => socket.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n')],
  ])('(%s) costs the POST nothing: it goes out on another, once', async (_, how) => {
    const { upstream, heads, accepted, strike } = await idleUpstream()
    const exchange = post()

    strike(how)

    expect(await sendOutcome(upstream, exchange)).toBe(200)
    expect(heads).toEqual(['GET', 'POST'])
    expect(accepted()).toBe(2)
    expect(exchange.attempts.count).toBe(1)
  })

  test.skipIf(openssl.missing !== null)('costs the POST nothing over TLS either', async () => {
    const { key, cert } = makeCertificates(openssl.path ?? '').authority
    const sockets: Socket[] = []
    const server = createServer({ key, cert }, (socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      onRequest(socket, () => socket.write(ok))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { tls } = upstreamConfig('http://unused.invalid')
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const upstream = openTestUpstream(url, { tls: { ...tls, verify: false } })
    await sendOutcome(upstream, fakeExchange())
    await turn()
    vi.advanceTimersByTime(1000)

    sockets[0]?.destroy()

    expect(await sendOutcome(upstream, post())).toBe(200)
    expect(await sendOutcome(upstream, post())).toBe(200)
    expect(sockets).toHaveLength(2)
  })

  test.each([
    ['is used by the next POST', () => {}, 1],
    ['that is closed costs the next POST nothing', (socket: Socket) => socket.destroy(), 2],
  ])('when its first client left before it was made, one %s', async (_, how, connections) => {
    const sockets: Socket[] = []
    const { url, accepted } = await rawUpstream((socket) => {
      sockets.push(socket)
      onRequest(socket, () => socket.write(ok))
    })
    const upstream = openTestUpstream(url)
    const left = fakeExchange()
    const leaving = sendOutcome(upstream, left)
    left.abort(new GatewayError('client-gone'))
    await leaving
    await eventually(() => accepted() === 1)
    for (let turns = 0; turns < 3; turns++) await turn() // the gateway notices it after its upstream
    vi.advanceTimersByTime(1000)

    for (const socket of sockets) how(socket)

    expect(await sendOutcome(upstream, post())).toBe(200)
    expect(accepted()).toBe(connections)
  })

  test('leaves a POST its slot before those that wait, and the slot is free afterwards', async () => {
    const { upstream, strike } = await idleUpstream(1, { maxConnections: 1, maxPending: 1 })

    strike((socket) => socket.destroy())
    const outcomes = await Promise.all(Array.from({ length: 3 }, () => sendOutcome(upstream, post())))
    const afterwards = await sendOutcome(upstream, post())

    expect([...outcomes, afterwards]).toEqual([200, 200, 'overloaded', 200])
    expect(upstream.members[0]?.endpoint.inFlight).toBe(0)
  })

  test('ends a POST with its own reason when its client leaves in that moment', async () => {
    const { upstream, heads, strike } = await idleUpstream()
    const exchange = post()

    strike((socket) => {
      socket.destroy()
      exchange.abort(new GatewayError('client-gone'))
    })

    expect(await sendOutcome(upstream, exchange)).toBe('client-gone')
    await turn()
    expect(heads).toEqual(['GET'])
    expect(upstream.members[0]?.endpoint.inFlight).toBe(0)
  })
})

describe('an idle connection', () => {
  const both = ['setTimeout', 'clearTimeout'] as const

  /** Sends a second request so long after the first, and returns whether it had a connection of its own. */
  const isFreshAfter = async (ms: number, response = ok, timers: readonly ('setTimeout' | 'clearTimeout')[] = both) => {
    vi.useFakeTimers({ toFake: [...timers, 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { url, accepted } = await rawUpstream((socket) => onRequest(socket, () => socket.write(response)))
    const upstream = openTestUpstream(url, { keepAlive: 1500 })
    await sendOutcome(upstream, fakeExchange())
    await turn()
    vi.advanceTimersByTime(ms)
    expect(await sendOutcome(upstream, fakeExchange())).toBe(200)
    return accepted() === 2
  }

  test('is used until a quarter of its time is left, and not afterwards', async () => {
    expect([await isFreshAfter(1124), await isFreshAfter(1126)]).toEqual([false, true])
  })

  test('is not used afterwards even when the timer that closes it is late', async () => {
    expect([await isFreshAfter(1124, ok, []), await isFreshAfter(1126, ok, [])]).toEqual([false, true])
  })

  test('is used until half a second before the end that its response names, where that is earlier', async () => {
    const response = ok.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=1\r\n\r\n')

    expect([await isFreshAfter(499, response), await isFreshAfter(501, response)]).toEqual([false, true])
  })
})

test('a response that comes before all of a large body was written leaves its connection to no other request', async () => {
  const opened = await rawUpstream((socket) =>
    onRequest(socket, (head) => {
      if (head.startsWith('POST')) socket.pause() // the rest stays unread
      socket.write(ok)
    }),
  )
  const upstream = openTestUpstream(opened.url)
  const large = fakeExchange({ operation: 'valuation.score', body: fakeBody(32 * 1024 * 1024) })

  const outcomes = [await sendOutcome(upstream, large), await sendOutcome(upstream, fakeExchange())]

  expect([outcomes, opened.accepted()]).toEqual([[200, 200], 2])
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
  const responded = Promise.withResolvers<void>()
  const upload = fakeExchange({ operation: 'valuation.score', body: fakeBody(null) })
  upload.body.stream = () => ({
    stop: () => {},
    async *[Symbol.asyncIterator]() {
      yield Buffer.from('a')
      await responded.promise
      yield Buffer.from('b')
    },
  })

  const { body } = await upstream.send(upload)
  responded.resolve()
  const ended = await new Promise((resolve) =>
    body.consume({ data: () => true, end: () => resolve('whole'), fail: ({ kind }) => resolve(kind) }),
  )

  expect([ended, await sendOutcome(upstream, fakeExchange()), opened.accepted()]).toEqual(['whole', 200, 2])
})
