import type { Socket } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import type { Upload } from '../../../../src/core/exchange/body.ts'
import type { Exchange } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import type { Upstream } from '../../../../src/core/upstream/upstream.ts'
import { fakeBody, fakeExchange } from '../../../helpers/exchange.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { openTestUpstream, sendOutcome } from '../../../helpers/open-upstream.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Opens an upstream that responds at once. */
const responsive = (bytes = ok) =>
  rawUpstream((socket) => {
    socket.on('end', () => socket.end())
    onRequest(socket, () => void socket.write(bytes))
  })

const rounds = 20

/** Sends many at once and returns the distinct outcomes. */
const outcomes = async (upstream: Upstream, make: (n: number) => Exchange): Promise<(number | string)[]> => {
  const all = Array.from({ length: rounds }, (_, n) => sendOutcome(upstream, make(n)))
  return [...new Set(await Promise.all(all))].sort()
}

describe('a request that cannot be sent as one', () => {
  const rejected = [
    ...['X-Bad: a\nb', 'X Bad: a', 'Expect: 100-continue', 'Keep-Alive: 5', 'Upgrade: x', 'Host: a'],
    ...['Content-Length: 5', 'Transfer-Encoding: chunked', 'Connection: close'],
  ].map((line) => line.split(': '))

  test('is internal, whatever field it has, and wedges nothing in a pool of eight', async () => {
    const { url, connections } = await responsive()
    const upstream = openTestUpstream(url)

    for (const fields of rejected) {
      expect(await outcomes(upstream, () => fakeExchange({ fields }))).toEqual(['internal'])
      expect(await outcomes(upstream, (n) => fakeExchange(n % 2 === 0 ? { fields } : {}))).toEqual([200, 'internal'])
    }
    expect(await outcomes(upstream, () => fakeExchange())).toEqual([200])
    expect(connections()).toBeLessThanOrEqual(8)
  })

  test('with a streamed body is rejected before a byte of it is read', async () => {
    const { url } = await responsive()
    const upstream = openTestUpstream(url)
    const stop = vi.fn()
    const upload: Upload = { [Symbol.asyncIterator]: () => expect.unreachable(), stop }
    const body = { ...fakeBody(null), stream: () => upload }
    const exchange = fakeExchange({ operation: 'valuation.score', fields: ['X-Bad', 'a\nb'], body })

    expect(await sendOutcome(upstream, exchange)).toBe('internal')
    expect(stop).toHaveBeenCalledTimes(1)
  })
})

describe('an exchange that is aborted', () => {
  const clientGone = () => new GatewayError('client-gone')

  test('before it is sent goes nowhere', async () => {
    const { url, accepted } = await responsive()
    const upstream = openTestUpstream(url)
    const exchange = fakeExchange()

    exchange.abort(clientGone())

    expect([await sendOutcome(upstream, exchange), accepted()]).toEqual(['client-gone', 0])
  })

  test('while it waits for a connection is never sent', async () => {
    const heads: string[] = []
    const held: Socket[] = []
    const { url, accepted } = await rawUpstream((socket) =>
      onRequest(socket, (head) => {
        heads.push(head)
        held.push(socket)
        if (head.includes('x-live')) socket.write(ok)
      }),
    )
    const upstream = openTestUpstream(url, { maxConnections: 1 })
    const first = fakeExchange({ fields: ['x-first', '1'] })
    const firstOutcome = sendOutcome(upstream, first)
    await expect.poll(() => heads.length).toBe(1)

    const waiting = Array.from({ length: rounds }, () => fakeExchange())
    const pending = waiting.map((exchange) => sendOutcome(upstream, exchange))
    for (const exchange of waiting) exchange.abort(clientGone())
    const live = sendOutcome(upstream, fakeExchange({ fields: ['x-live', '1'] }))
    first.abort(clientGone())

    expect(new Set(await Promise.all([firstOutcome, ...pending]))).toEqual(new Set(['client-gone']))
    expect([await live, heads.length, accepted()]).toEqual([200, 2, 2])
    expect(waiting.filter(({ attempts, endedInQueue }) => attempts.wasSent || !endedInQueue)).toEqual([])
    expect([first.attempts.wasSent, first.endedInQueue]).toEqual([true, false])
  })

  test('when it was given a connection, and before it is written there, was not sent', async () => {
    const heads: string[] = []
    const { url } = await rawUpstream((socket) => {
      socket.on('end', () => socket.end())
      onRequest(socket, (head) => {
        heads.push(head)
        socket.write(ok)
      })
    })
    const upstream = openTestUpstream(url, { maxConnections: 1 })
    await sendOutcome(upstream, fakeExchange())
    const exchange = fakeExchange({ fields: ['x-gone', '1'] })
    exchange.onSent = () => exchange.abort(new GatewayError('deadline-exceeded'))

    const outcome = await sendOutcome(upstream, exchange)
    const next = await sendOutcome(upstream, fakeExchange({ fields: ['x-next', '1'] }))

    expect([outcome, next]).toEqual(['deadline-exceeded', 200])
    expect(heads.filter((head) => head.includes('x-gone'))).toEqual([])
    expect([exchange.attempts.wasSent, exchange.endedInQueue]).toEqual([false, true])
  })

  test('while the connection of others is rejected fails once, and keeps its own reason', async () => {
    const upstream = openTestUpstream(`http://127.0.0.1:${await freePort()}`, { maxConnections: 1 })
    const exchange = fakeExchange()
    const other = fakeExchange()

    const outcome = Promise.all([sendOutcome(upstream, exchange), sendOutcome(upstream, other)])
    exchange.abort(clientGone())

    expect(await outcome).toEqual(['client-gone', 'connect-failed'])
  })

  test('while its head is known and its body is not taken fails the body', async () => {
    const { url, connections } = await responsive('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
    const upstream = openTestUpstream(url)
    const exchange = fakeExchange()

    const { body } = await upstream.send(exchange)
    exchange.abort(clientGone())
    const fail = vi.fn()
    body.consume({ data: () => true, end: () => expect.unreachable(), fail })

    expect(body.takeBuffered()).toBeNull()
    expect(fail.mock.calls).toMatchObject([[{ kind: 'client-gone' }]])
    await expect.poll(connections).toBe(0)
  })
})

// response-parser.test.ts has all that is malformed.
test('a response that is malformed is bad-response', async () => {
  const { url, connections } = await responsive('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc')

  expect(await sendOutcome(openTestUpstream(url), fakeExchange())).toBe('bad-response')
  await expect.poll(connections).toBe(0)
})

test('a response that was not requested, behind another, is dropped', async () => {
  const { url, accepted } = await responsive(ok + ok.replace('ok', 'no'))
  const upstream = openTestUpstream(url, { maxConnections: 1 })
  const bodies: (string | undefined)[] = []

  for (let i = 0; i < 3; i++) bodies.push((await upstream.send(fakeExchange())).body.takeBuffered()?.toString())

  expect([bodies, accepted()]).toEqual([['ok', 'ok', 'ok'], 3])
})

test.each([
  ['is used again', { maxConnections: 1 }, 1],
  ['is not when keepAlive is 0', { keepAlive: 0 }, 3],
])('a connection %s', async (_, settings, connections) => {
  const { url, accepted } = await responsive()
  const upstream = openTestUpstream(url, settings)

  for (let i = 0; i < 3; i++) expect(await sendOutcome(upstream, fakeExchange())).toBe(200)

  expect(accepted()).toBe(connections)
})

test('of the connections that are free, a request goes out on the one that was used last', async () => {
  const held: Socket[] = []
  const used: Socket[] = []
  const { url } = await rawUpstream((socket) =>
    onRequest(socket, () => {
      if (held.length < 3) return held.push(socket)
      used.push(socket)
      return socket.write(ok)
    }),
  )
  const upstream = openTestUpstream(url)
  let responded = 0
  for (const _ of [1, 2, 3]) void sendOutcome(upstream, fakeExchange()).then(() => responded++)
  await eventually(() => held.length === 3)
  for (const i of [0, 2, 1]) {
    const before = responded
    held[i]?.write(ok)
    await eventually(() => responded > before)
  }

  for (const _ of [1, 2, 3]) await sendOutcome(upstream, fakeExchange())

  expect(used.map((socket) => held.indexOf(socket))).toEqual([1, 1, 1])
})

test('closing finishes what runs', async () => {
  const requested = Promise.withResolvers<Socket>()
  const { url } = await rawUpstream((socket) => onRequest(socket, () => requested.resolve(socket)))
  const upstream = openTestUpstream(url)
  const running = sendOutcome(upstream, fakeExchange())
  const socket = await requested.promise

  const closed = upstream.members[0]?.endpoint.close()
  socket.write(ok)

  expect(await running).toBe(200)
  await closed
})

test.each([
  ['hears of each attempt that has a connection', async () => (await responsive()).url, [200, 200], 2],
  ['hears nothing while none takes it', async () => `http://127.0.0.1:${await freePort()}`, ['connect-failed'], 0],
])('an exchange that wants to know when it is sent %s', async (_, origin, expected, sent) => {
  const upstream = openTestUpstream(await origin())
  const onSent = vi.fn()
  const exchange = Object.assign(fakeExchange(), { onSent })
  const actual: unknown[] = []

  for (const _ of expected) actual.push(await sendOutcome(upstream, exchange))

  expect([actual, onSent.mock.calls.length]).toEqual([expected, sent])
})

test.each([
  ['has been sent completely when its response is complete', 1, true],
  ['may still be written by the attempt before, when it was sent twice', 2, false],
])('a body that was read first %s', async (_, times, expected) => {
  const upstream = openTestUpstream((await responsive()).url)
  const exchange = fakeExchange({ operation: 'valuation.score', body: fakeBody(3) })

  for (let n = 0; n < times; n++) await sendOutcome(upstream, exchange)
  await eventually(() => exchange.attempts.last?.endedAt !== null)

  expect(exchange.bodySent).toBe(expected)
})
