import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../src/errors.ts'
import { fakeBody, fakeExchange } from '../helpers/exchange.ts'
import { openTestUpstream, outcome } from '../helpers/open-upstream.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'
import { eventually } from '../helpers/wire.ts'

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Opens an upstream that answers the first request of its first connection, and does as told with every other. */
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
const post = () => fakeExchange({ operation: 'valuation.score', body: fakeBody(3) })

describe('a connection that is closed for having been idle, when a request goes out on it', () => {
  test.each([
    ['cut', cut],
    ['ended', (socket: Socket) => void socket.end()],
  ])('(%s) costs a GET nothing: it is sent once more, on a fresh one', async (_, close) => {
    const { upstream, heads, accepted } = await closing((socket, nth) => (nth === 0 ? close(socket) : socket.write(ok)))
    await outcome(upstream, fakeExchange())
    const exchange = fakeExchange()

    expect(await outcome(upstream, exchange)).toBe(200)

    expect(heads).toEqual(['GET', 'GET', 'GET'])
    expect(accepted()).toBe(2)
    expect(exchange.attempts).toBe(2)
  })

  test('fails a POST, which is never sent twice', async () => {
    const { upstream, heads } = await closing(cut)
    await outcome(upstream, fakeExchange())

    expect(await outcome(upstream, post())).toBe('reset-before-headers')

    expect(heads).toEqual(['GET', 'POST'])
  })

  test('fails a GET of which the second attempt is cut as well', async () => {
    const { upstream, heads } = await closing(cut)
    await outcome(upstream, fakeExchange())

    expect(await outcome(upstream, fakeExchange())).toBe('reset-before-headers')

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

  for (let round = 0; round < 20; round++) {
    await outcome(upstream, fakeExchange())
    await new Promise((resolve) => setImmediate(resolve)) // the connection is idle then
    sockets.at(-1)?.resetAndDestroy()
    outcomes.add(await outcome(upstream, made()))
  }

  expect([...outcomes]).toEqual([200])
})

test('a fresh connection that is cut fails a GET at once', async () => {
  const { url, accepted } = await rawUpstream((socket) => onRequest(socket, () => cut(socket)))
  const upstream = openTestUpstream(url)

  expect(await outcome(upstream, fakeExchange())).toBe('reset-before-headers')

  expect(accepted()).toBe(1)
})

test('a reused connection on which something came back is not stale', async () => {
  const { upstream, heads } = await closing((socket) => socket.write('HTTP/1.1 2', () => cut(socket)))
  await outcome(upstream, fakeExchange())

  expect(await outcome(upstream, fakeExchange())).toMatch(/reset-before-headers|bad-answer/)

  expect(heads).toEqual(['GET', 'GET'])
})

test('a client that leaves while its GET is sent again ends it', async () => {
  const { upstream, heads, accepted } = await closing((socket, nth) => (nth === 0 ? cut(socket) : undefined))
  await outcome(upstream, fakeExchange())
  const exchange = fakeExchange()
  const running = outcome(upstream, exchange)
  await eventually(() => heads.length === 3)

  exchange.abort(new GatewayError('client-gone'))

  expect(await running).toBe('client-gone')
  expect(accepted()).toBe(2)
  expect(upstream.members[0]?.endpoint.inFlight).toBe(0)
})

test('a GET that is cut with its endpoint is not sent again', async () => {
  const { upstream, heads, accepted } = await closing(() => {})
  await outcome(upstream, fakeExchange())
  const exchange = fakeExchange()
  const running = outcome(upstream, exchange)
  await eventually(() => heads.length === 2)

  await upstream.members[0]?.endpoint.destroy(new Error('shut down'))

  expect(await running).toBe('reset-before-headers')
  expect(heads).toEqual(['GET', 'GET'])
  expect(accepted()).toBe(1)
})
