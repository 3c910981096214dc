import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import {
  call,
  dial,
  eventually,
  fieldValues,
  pseudoRandomBytes,
  readToEnd,
  renderHead,
  sha256,
  type WireResponse,
} from '../../../helpers/wire.ts'

const mebibyte = 1024 * 1024

const cached = (upstream: string, cache: unknown = true) =>
  bootGateway({ upstream, operations: { 'market.insights': { cache } } })

const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']

/** Answers with a response that was fresh until a second ago: no test has to wait for it to become stale. */
const stale = ['Cache-Control', 'max-age=60', 'Age', '61', 'ETag', '"a"']

const statusOf = ({ fields }: WireResponse): string => fieldValues(fields, 'cache-status').join()

/** Opens an upstream whose responses a test sends when it likes. */
const holding = async () => {
  const held: ServerResponse[] = []
  const upstream = await httpUpstream((_, response) => void held.push(response))
  return { upstream, held }
}

/** Waits until the gateway has read what was written to it before: it has answered what was asked for afterwards. */
const passed = async (port: number): Promise<void> => {
  for (let i = 0; i < 3; i++) await call(port, { target: '/nowhere' })
}

describe('what is stored', () => {
  test('answers, validates and is cut into ranges without the upstream', async () => {
    const body = pseudoRandomBytes(300_000)
    const upstream = await httpUpstream((_, response) => {
      response.writeHead(200, [...fresh, 'Content-Length', String(body.length)])
      response.end(body)
    })
    const { port } = await cached(upstream.url)

    const [first, hit] = [await call(port), await call(port)]
    const same = await call(port, { fields: ['If-None-Match', '"a"'] })
    const part = await call(port, { fields: ['Range', 'bytes=100000-100009'] })

    expect([first.sha256, hit.sha256]).toEqual([sha256(body), sha256(body)])
    expect([statusOf(first), statusOf(hit)]).toEqual([
      expect.stringMatching(/^lender-gateway;fwd=uri-miss;stored;ttl=\d+$/),
      expect.stringMatching(/^lender-gateway;hit;ttl=\d+$/),
    ])
    expect([fieldValues(first.fields, 'age'), fieldValues(hit.fields, 'age')]).toEqual([[], [expect.any(String)]])
    expect([same.status, same.body.length]).toEqual([304, 0])
    expect([part.status, part.body.equals(body.subarray(100_000, 100_010))]).toEqual([206, true])
    expect(upstream.requests).toHaveLength(1)
  })

  test('is not what was broken off, which the client can see', async () => {
    let requests = 0
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, () => {
        requests++
        socket.end('HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 100000\r\n\r\nbegun')
      }),
    )
    const { port } = await cached(upstream.url)

    const responses = [await call(port), await call(port)]

    expect(responses.map(({ whole }) => whole)).toEqual([false, false])
    expect(requests).toBe(2)
  })

  test('comes out of a chunked response with its length', async () => {
    const upstream = await httpUpstream((_, response) => {
      response.writeHead(200, fresh)
      response.write('one ')
      setImmediate(() => response.end('two'))
    })
    const { port } = await cached(upstream.url)

    const [first, hit] = [await call(port), await call(port)]

    expect([first.body.toString(), hit.body.toString()]).toEqual(['one two', 'one two'])
    expect([first.framing, hit.framing]).toEqual(['chunked', 'length'])
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('requests for the same at the same time', () => {
  test('make one request of a thousand', async () => {
    const { upstream, held } = await holding()
    const { port } = await cached(upstream.url)
    const asked = Array.from({ length: 1000 }, () => call(port))
    await eventually(() => held.length > 0)
    await passed(port)

    held[0]?.writeHead(200, fresh)
    held[0]?.end('for all')
    const responses = await Promise.all(asked)

    expect(new Set(responses.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(['200 for all']))
    expect(upstream.begun()).toBe(1)
  })

  test('are unharmed by clients that leave', async () => {
    const { upstream, held } = await holding()
    const booted = await cached(upstream.url)
    const { port } = booted
    const leavers = [await dial(port), await dial(port)]
    for (const socket of leavers) socket.write(renderHead({}))
    await eventually(() => held.length > 0)
    const staying = call(port)
    await passed(port)

    for (const socket of leavers) socket.resetAndDestroy()
    await eventually(() => booted.lines.filter(({ failure }) => failure === 'client-gone').length === 2)
    held[0]?.writeHead(200, fresh)
    held[0]?.end('for those that stay')

    expect((await staying).body.toString()).toBe('for those that stay')
    expect(upstream.begun()).toBe(1)
  })

  test('end the request when all of them have left', async () => {
    const { upstream, held } = await holding()
    const { port } = await cached(upstream.url)
    const leavers = [await dial(port), await dial(port)]
    for (const socket of leavers) socket.write(renderHead({}))
    await eventually(() => held.length > 0)
    const closed = once(held[0] as ServerResponse, 'close')

    for (const socket of leavers) socket.resetAndDestroy()

    await closed
    expect(held[0]?.writableFinished).toBe(false)
  })

  test('reach the upstream side by side when the response cannot be shared', async () => {
    const { upstream, held } = await holding()
    const { port } = await cached(upstream.url)
    const asked = Array.from({ length: 20 }, () => call(port))
    await eventually(() => held.length > 0)
    await passed(port)

    held[0]?.writeHead(200, ['Cache-Control', 'no-store'])
    held[0]?.end('0')
    await eventually(() => held.length === 20) // all at once, and none is answered before
    for (const [i, response] of held.entries()) if (i > 0) response.end(String(i))

    const bodies = (await Promise.all(asked)).map(({ body }) => Number(body))
    expect(bodies.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i))
  })
})

describe('while it streams', () => {
  test('a client has the beginning before the upstream has sent the end', async () => {
    const body = pseudoRandomBytes(mebibyte - 4096)
    const { upstream, held } = await holding()
    const { port } = await cached(upstream.url)
    const sockets = [await dial(port), await dial(port)]
    const responses = sockets.map(readToEnd)
    for (const socket of sockets) socket.write(renderHead({}))
    await eventually(() => held.length > 0)
    await passed(port)

    const begun = Promise.all(sockets.map((socket) => once(socket, 'data')))
    held[0]?.writeHead(200, [...fresh, 'Content-Length', String(body.length)])
    held[0]?.write(body.subarray(0, 1000))
    await begun
    held[0]?.end(body.subarray(1000))
    const hashes = (await Promise.all(responses)).map(({ sha256 }) => sha256)

    expect([...hashes, (await call(port)).sha256]).toEqual(Array(3).fill(sha256(body)))
    expect(upstream.begun()).toBe(1)
  })

  test('a client that does not read holds up neither the others nor the store', async () => {
    const body = pseudoRandomBytes(16 * mebibyte)
    const { upstream, held } = await holding()
    const { port } = await cached(upstream.url, { maxEntry: '32MiB' })
    const slow = await dial(port)
    slow.pause()
    slow.write(renderHead({}))
    await eventually(() => held.length > 0)
    const fast = call(port)
    await passed(port)

    held[0]?.writeHead(200, [...fresh, 'Content-Length', String(body.length)])
    held[0]?.end(body)
    const [first, hit] = [await fast, await call(port)]
    const late = readToEnd(slow)
    slow.resume()

    expect([first, hit, await late].map(({ sha256 }) => sha256)).toEqual(Array(3).fill(sha256(body)))
    expect(upstream.begun()).toBe(1)
  })

  test.each([
    ['in chunks', []],
    ['by length', ['Content-Length', String(3 * mebibyte)]],
  ])('what is longer than an entry may be is passed on whole, %s, and not stored', async (_, framing) => {
    const body = pseudoRandomBytes(3 * mebibyte)
    const upstream = await httpUpstream((_, response) => {
      response.writeHead(200, [...fresh, ...framing])
      response.end(body)
    })
    const { port } = await cached(upstream.url)

    const together = await Promise.all([call(port), call(port), call(port)])
    const after = await call(port)

    expect([...together, after].map(({ sha256 }) => sha256)).toEqual(Array(4).fill(sha256(body)))
    expect(upstream.begun()).toBeGreaterThan(1)
    expect(statusOf(after)).toBe('lender-gateway;fwd=uri-miss;detail=too-large')
  })
})

describe('what is stale', () => {
  test('is served while the upstream is gone, and no request fails', async () => {
    const upstream = await httpUpstream((_, response) => {
      response.writeHead(200, stale)
      response.end('still good')
    })
    const { port } = await cached(upstream.url, { staleWhenDisconnected: '10m' })
    await call(port)
    await upstream.close()

    const rounds: WireResponse[] = []
    for (let i = 0; i < 5; i++) rounds.push(...(await Promise.all(Array.from({ length: 40 }, () => call(port)))))

    expect(new Set(rounds.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(['200 still good']))
    expect(rounds.every((each) => /;fwd=stale;.*ttl=-\d+$/.test(statusOf(each)))).toBe(true)
  })

  test('is replaced behind the clients’ backs, once, and not kept when the new one is for one client alone', async () => {
    const { upstream, held } = await holding()
    const { port } = await cached(upstream.url, { staleWhileRevalidate: '10m' })
    const answer = (nth: number, fields: readonly string[], body: string): void => {
      held[nth]?.writeHead(200, [...fields])
      held[nth]?.end(body)
    }
    const first = call(port)
    await eventually(() => held.length === 1)
    answer(0, stale, 'first')
    await first

    const meanwhile = await Promise.all([call(port), call(port), call(port)])
    await eventually(() => held.length === 2)
    answer(1, stale, 'second')
    let next = await call(port)
    while (next.body.toString() === 'first') next = await call(port)
    await eventually(() => held.length === 3)
    answer(2, ['Cache-Control', 'private'], 'third')
    let last = call(port)
    for (;;) {
      await Promise.race([last, eventually(() => held.length === 4)])
      if (held.length === 4) break
      last = call(port)
    }
    answer(3, ['Cache-Control', 'private'], 'fourth')

    expect(meanwhile.map(({ body }) => body.toString())).toEqual(['first', 'first', 'first'])
    expect(next.body.toString()).toBe('second')
    expect((await last).body.toString()).toBe('fourth')
    expect(upstream.begun()).toBe(4)
  })
})
