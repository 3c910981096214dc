import type { Socket } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import { bareGet, dial, eventually, renderHead } from '../helpers/wire.ts'

afterEach(() => void vi.useRealTimers())
const useFakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })

const get = (query: string): string => bareGet(`/market/insights?${query}`)
const post = (...framing: readonly string[]): string =>
  renderHead({ method: 'POST', target: '/risk/asset-valuation', fields: [...framing, 'Connection', 'keep-alive'] })

// The attack (Slowloris): ten thousand connections cost the client next to nothing. An attacker who keeps them all,
// without a request or with endless heads, keeps all other clients out. An unrequested 408 would pass for the response
// to the next request: RFC 9110 §15.5.9 does not ask for it.
test('a connection without a whole request is closed, without a response or a log line if nothing came', async () => {
  const upstream = await httpUpstream()
  const timeouts = { headers: '200ms', keepAlive: '200ms' }
  const { port, lines, gateway } = await bootGateway({ upstream: upstream.url, listen: { timeouts } })
  const rejected = 'POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n'
  const cases = [
    ['', '', /^$/],
    ['', '\r\n', /^(408)?$/],
    ['GET / HTTP/1.1\r\nHost: a\r\n', 'X-Slow: a\r\n', /^408$/],
    [get(''), '', /^200$/],
    [get(''), '\r\n', /^200/],
    [get(''), 'G', /^200/],
    [`${get('')}GET / HTTP/1.1\r\nHost: a\r\n`, 'X-Slow: a\r\n', /^200, 408$/],
    [rejected, 'x', /^404$/],
  ] as const

  const ends = cases.map(async ([first, then]) => {
    const client = await rawClient(port)
    if (first !== '') client.send(first)
    if (first.endsWith('\r\n\r\n')) await client.until(isWholeResponse)
    const tap = setInterval(() => then === '' || client.socket.write(then), 20)
    const { received } = await client.ended()
    clearInterval(tap)
    return [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status).join(', ')
  })

  const ended = await Promise.all(ends)
  expect(ended).toEqual(cases.map(([, , statuses]) => expect.stringMatching(statuses)))
  await gateway.close()
  const logged = lines.filter(({ msg }) => msg === 'exchange').map(({ status }) => String(status))
  expect(logged.toSorted()).toEqual(ended.flatMap((each) => each.match(/\d{3}/g) ?? []).toSorted())
})

// The attack: endless uploads, a byte at a time, until an upstream has no connection left. A streaming body is not read
// before it has a connection, so no gap is timed and the request is never complete: the next client with an upload
// waited for ever.
test('an upload without a connection to the upstream gets an error within the deadline', async () => {
  const upstream = await rawUpstream((socket) => void socket.resume().on('end', () => socket.end()))
  const defaults = { maxConnections: 1, deadline: '200ms' }
  const { port } = await bootGateway({ upstream: upstream.url, defaults })
  const open = async (bytes: string, ...framing: readonly string[]): Promise<RawClient> => {
    const client = await rawClient(port)
    onTestFinished(() => client.close())
    client.send(post(...framing).replace('/risk/asset-valuation', '/valuation/score') + bytes)
    return client
  }
  const holder = await open('1\r\nx\r\n', 'Transfer-Encoding', 'chunked')
  await eventually(() => upstream.connections() === 1)

  const waiting = await Promise.all([
    open('3\r\nabc\r\n0\r\n\r\n', 'Transfer-Encoding', 'chunked'),
    open('x'.repeat(70_000), 'Content-Length', '70000'),
    open('', 'Transfer-Encoding', 'chunked', 'Expect', '100-continue'),
  ])

  for (const client of waiting)
    expect(await client.until(isWholeResponse)).toMatch(/^HTTP\/1\.1 504 [\s\S]*deadline-exceeded/)
  expect(holder.received()).toBe('')
})

// The attack: an upload of a byte a second. No gap is long, so nothing ends it, and it holds an upstream connection for
// days. `min-rate.test.ts` shows how the rate is measured.
test.each([
  ['in chunks, which holds a connection to the upstream', post('Transfer-Encoding', 'chunked'), '1\r\na\r\n'],
  ['of a small body, which is read before it is sent', post('Content-Length', '1000'), 'a'],
])('an upload slower than the rate is ended with 408, though no gap in it is long: %s', async (_, head, piece) => {
  useFakeTimers()
  let arrived = 0
  const upstream = await rawUpstream((socket) => {
    socket.on('data', ({ length }) => {
      arrived += length
    })
    socket.on('end', () => socket.end())
  })
  const { port, line } = await bootGateway({
    upstream: upstream.url,
    listen: { minRate: '10B/s', timeouts: { body: '30s' } },
    defaults: { deadline: 'none', timeouts: { headers: 'none' } },
  })
  const client = await rawClient(port)

  client.send(head)
  while (client.received() === '') {
    const had = arrived
    client.send(piece)
    if (head.includes('chunked')) await eventually(() => arrived > had || client.received() !== '')
    else await new Promise(setImmediate)
    vi.advanceTimersByTime(1000)
  }
  const { received } = await client.ended()
  await eventually(() => upstream.connections() === 0)

  expect(parseStatus(received)).toBe(408)
  expect(received).toContain('Connection: close')
  expect(await line(({ failure }) => failure !== undefined)).toMatchObject({
    ...{ failure: 'request-timeout', cause: 'sends less than listen.minRate' },
  })
})

const respond = (socket: Socket, length: number): void => {
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`)
  socket.write(Buffer.alloc(length))
}

/** Opens an upstream that responds to three requests at once, and to the first when `respondFirst` is called. */
const upstreamOf = async (size: number, onResponded: (upstream: { others: number; respondFirst(): void }) => void) => {
  const state = { url: '', others: 0, respondFirst: () => {} }
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, (head) => {
      if (head.includes('?first')) state.respondFirst = () => respond(socket, 60_000)
      else {
        respond(socket, size)
        state.others++
        onResponded(state)
      }
    }),
  )
  state.url = upstream.url
  return state
}

// The attack: a client that never reads its responses. Its connection is one of ten thousand, and it need do nothing to
// keep it. No upstream is involved any more: the responses are complete, and together larger than the system's buffers.
test('a client that does not read responses written before their turn is cut within the timeout of a gap', async () => {
  const upstream = await upstreamOf(60_000, ({ others, respondFirst }) => others === 3 && respondFirst())
  const { port, line } = await bootGateway({ upstream: upstream.url, listen: { timeouts: { body: '200ms' } } })
  const client = await dial(port)
  onTestFinished(() => void client.destroy()) // paused, it does not see the end

  client.pause()
  client.write(get('first') + get('x').repeat(95))
  const cut = await line(({ cause }) => cause !== undefined)

  expect(cut).toMatchObject({ failure: 'client-gone', status: 499, cause: 'takes nothing' })
  expect(cut.gatewayMs).toBeGreaterThanOrEqual(200)
})

test('a client that takes less than the rate is cut long before the timeout of a gap', async () => {
  useFakeTimers()
  const upstream = await rawUpstream((socket) => onRequest(socket, () => respond(socket, 16 * 1024 ** 2)))
  const { port, lines } = await bootGateway({
    upstream: upstream.url,
    listen: { minRate: '10MiB/s', timeouts: { body: '1h' } },
    defaults: { timeouts: { body: 'none' } },
  })
  const client = await dial(port)
  onTestFinished(() => void client.destroy()) // paused, it does not see the end

  client.pause()
  client.write(get('x'))
  let passedMs = 0
  for (; lines.length === 0; passedMs += 10) {
    await new Promise(setImmediate)
    vi.advanceTimersByTime(10)
  }

  expect(lines[0]).toMatchObject({ failure: 'client-gone', status: 499, cause: 'takes less than listen.minRate' })
  expect(passedMs).toBeLessThan(3_600_000)
})

test('a client is not slow while its response waits behind another', async () => {
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
  upstream.respondFirst()
  await eventually(() => received > size || client.destroyed)

  expect(received).toBeGreaterThan(size)
  expect(lines.filter(({ cause }) => cause !== undefined)).toEqual([])
})
