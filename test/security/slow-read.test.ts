import type { Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'
import { dial, eventually } from '../helpers/wire.ts'

// The attack: a client that asks and never reads. What was written to it waits, its connection is one of ten thousand,
// and it need do nothing more to keep it. No upstream streams to it by then: the responses are complete, only not read.
const gapMs = 200
const bytes = 60_000 // read whole from the upstream, and written in one piece
const some = 95 // together more than the system takes for a client that does not read
const get = (query: string): string => `GET /market/insights?${query} HTTP/1.1\r\nHost: a\r\n\r\n`
const respond = (socket: Socket, length: number): boolean => {
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`)
  return socket.write(Buffer.alloc(length))
}

/** Opens an upstream that answers the first request when it is told to, and the others, three beside it, at once. */
const upstreamOf = async (size: number, onAnswered: (upstream: { others: number; answerFirst(): void }) => void) => {
  const state = { url: '', others: 0, answerFirst: () => {} }
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, (head) => {
      if (head.includes('?first')) state.answerFirst = () => void respond(socket, bytes)
      else {
        respond(socket, size)
        state.others++
        onAnswered(state)
      }
    }),
  )
  state.url = upstream.url
  return state
}

test.each([
  ['in their turn', get('x').repeat(some)],
  ['before their turn', get('first') + get('x').repeat(some)],
])('a client that does not read responses that were written %s is cut in the time of a gap', async (_, requests) => {
  const upstream = await upstreamOf(bytes, ({ others, answerFirst }) => others === 3 && answerFirst())
  const { port, line } = await bootGateway({ upstream: upstream.url, listen: { timeouts: { body: `${gapMs}ms` } } })
  const client = await dial(port)

  client.pause()
  client.write(requests)
  const cut = await line(({ cause }) => cause !== undefined)

  expect(cut).toMatchObject({ failure: 'client-gone', status: 499, cause: 'takes nothing' })
  expect(cut.gatewayMs).toBeGreaterThanOrEqual(gapMs)
})

afterEach(() => void vi.useRealTimers())
const useFakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })

test('a client that takes less than the rate is cut long before a gap would say so', async () => {
  useFakeTimers()
  const upstream = await rawUpstream((socket) => onRequest(socket, () => void respond(socket, 16 * 1024 ** 2)))
  const { port, lines } = await bootGateway({
    upstream: upstream.url,
    listen: { minRate: '10MiB/s', timeouts: { body: '1h' } },
    defaults: { timeouts: { body: 'none' } },
  })
  const client = await dial(port)

  client.pause()
  client.write(get('x'))
  let passed = 0
  await eventually(() => {
    if (lines.length > 0) return true
    vi.advanceTimersByTime(10)
    passed += 10
    return false
  })

  expect(lines[0]).toMatchObject({ failure: 'client-gone', status: 499, cause: 'takes less than listen.minRate' })
  expect(passed).toBeLessThan(3_600_000)
})

test('a client is not taken for one that does not read while its response waits behind another', async () => {
  useFakeTimers()
  const size = 4 * 1024 * 1024
  const upstream = await upstreamOf(size, () => {})
  const { port, lines } = await bootGateway({
    upstream: upstream.url,
    listen: { minRate: '1MiB/s' },
    defaults: { deadline: 'none', timeouts: { headers: 'none', body: 'none' } },
  })
  const client = await dial(port)
  let received = 0
  client.on('data', ({ length }) => {
    received += length
  })

  client.write(get('first') + get('second'))
  await eventually(() => upstream.others === 1)
  for (let turns = 0; turns < 300; turns++) {
    await new Promise(setImmediate)
    vi.advanceTimersByTime(1000)
  }
  upstream.answerFirst()
  await eventually(() => received > size || client.destroyed)

  expect(received).toBeGreaterThan(size)
  expect(lines.filter(({ cause }) => cause !== undefined)).toEqual([])
})
