import type { Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Upload } from '../../../src/core/exchange/body.ts'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { Upstream } from '../../../src/core/upstream/upstream.ts'
import { fakeAttempts, fakeBody, fakeExchange } from '../../helpers/exchange.ts'
import { openTestUpstream } from '../../helpers/open-upstream.ts'
import { onRequest, rawUpstream } from '../../helpers/upstream.ts'
import { eventually, pseudoRandomBytes } from '../../helpers/wire.ts'

const MiB = 1024 * 1024

/** Waits until the event loop has turned so often. */
const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** Sends, takes the body, and resolves to the body or the kind of failure. */
const readBody = async (upstream: Pick<Upstream, 'send'>, exchange: Exchange = fakeExchange()): Promise<string> => {
  try {
    const { body } = await upstream.send(exchange)
    return await new Promise((resolve) => {
      const chunks: Buffer[] = []
      body.consume({
        data: (chunk) => chunks.push(chunk) > 0,
        end: () => resolve(Buffer.concat(chunks).toString('latin1')),
        fail: ({ kind }) => resolve(kind),
      })
    })
  } catch (error) {
    return GatewayError.from(error).kind
  }
}

/** Creates an upload of chunks that are created as they are taken, and counts them. */
const createUpload = (count: number, bytes: number) => {
  const taken = { chunks: 0, started: false, stopped: false }
  const upload: Upload = {
    async *[Symbol.asyncIterator]() {
      while (taken.chunks < count && !taken.stopped) {
        taken.chunks++
        yield Buffer.alloc(bytes)
        await turns(1)
      }
    },
    stop: () => {
      taken.stopped = true
    },
  }
  const stream = (): Upload => {
    taken.started = true
    return upload
  }
  const exchange = fakeExchange({ operation: 'valuation.score', body: { ...fakeBody(null), stream } })
  return { exchange, taken }
}

const framings: readonly (readonly [name: string, bytes: string, endsAt: number])[] = (() => {
  const length = 'HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nwhole'
  const chunks =
    'HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a="b"\r\nwhole\r\n0\r\nC: d\r\n\r\n'
  const untilEnd = 'HTTP/1.0 200 OK\r\nA: b\r\n\r\nwhole'
  return [
    ['by length', length, length.length],
    ['in chunks', chunks, chunks.length],
    ['up to the end', untilEnd, untilEnd.indexOf('\r\n\r\n') + 4],
  ]
})()

const endSocket = (socket: Socket): void => void socket.end()
const reset = (socket: Socket): void => void socket.resetAndDestroy()

test.each([
  ...framings.map(([name, ...framing]) => [name, 'ends', ...framing, endSocket] as const),
  ...framings.slice(1, 2).map(([name, ...framing]) => [name, 'is reset', ...framing, reset] as const),
])(
  'a response %s whose connection %s at any byte is never taken for whole, and leaves nothing',
  async (_, how, bytes, endsAt, close) => {
    const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext'
    let cut = 0
    let isCut = true
    const { url } = await rawUpstream((socket) => {
      socket.setNoDelay()
      onRequest(socket, () => {
        if (isCut) socket.write(bytes.slice(0, cut), 'latin1', () => close(socket))
        else socket.write(ok)
      })
    })
    const upstream = openTestUpstream(url, { maxConnections: 1 })
    const lastHeadAt = bytes.lastIndexOf('HTTP/1.')
    const headEndsAt = bytes.indexOf('\r\n\r\n', lastHeadAt) + 4
    const wrong: string[] = []

    for (cut = 0; cut < bytes.length; cut++) {
      isCut = true
      const actual = await readBody(upstream)
      const isWhole = cut >= endsAt && how === 'ends'
      // A reset may overtake what was written before it.
      const expected = isWhole
        ? [bytes.slice(endsAt, cut)]
        : cut < headEndsAt
          ? ['reset-before-headers']
          : how === 'ends'
            ? ['truncated']
            : ['truncated', 'reset-before-headers']
      if (!expected.includes(actual)) wrong.push(`${cut}: ${actual}, not ${expected}`)
      isCut = false
      const next = await readBody(upstream)
      if (next !== 'next') wrong.push(`after ${cut}: ${next}`)
    }

    expect(wrong).toEqual([])
    expect(upstream.members[0]?.endpoint.inFlight).toBe(0)
  },
)

test.each([
  ['the only attempt', 0, 1],
  ['the second attempt, which may have had too little of it', 1, 0],
])('a response that has not ended by the deadline is told to its exchange, of %s', async (_, attempts, failures) => {
  const { url } = await rawUpstream((socket) => {
    onRequest(socket, () => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na part'))
  })
  const onBrokenAnswer = vi.fn()
  const upstream = openTestUpstream(url)
  const exchange = Object.assign(fakeExchange(), { onBrokenAnswer, attempts: fakeAttempts({ count: attempts }) })

  await upstream.send(exchange)
  exchange.abort(new GatewayError('deadline-exceeded'))

  expect(onBrokenAnswer).toHaveBeenCalledTimes(failures)
  expect(upstream.members[0]?.health.counts.failures).toBe(failures)
})

const writeMore = (socket: Socket) => void socket.write('1\r\nb\r\n')

test.each<[string, readonly number[], (socket: Socket) => void, number]>([
  ['a second in all, and reset, is no fault of its endpoint', [600, 600], reset, 0],
  ['a second in all, and ended, is none either', [600, 600], (socket) => void socket.end(), 0],
  ['less, and reset, is one', [600, 300], reset, 1],
  ['a second in all, and malformed, is one', [600, 600], (socket) => void socket.write('no chunk\r\n'), 1],
])('a response that is held back for its reader for %s', async (_, holdsMs, cut, failures) => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const sockets: Socket[] = []
  const { url } = await rawUpstream((socket) =>
    onRequest(socket, () => {
      sockets.push(socket)
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
    }),
  )
  const upstream = openTestUpstream(url)
  const onBrokenAnswer = vi.fn()
  const exchange = Object.assign(fakeExchange(), { onBrokenAnswer })
  const { promise, resolve } = Promise.withResolvers<string>()
  let taken = 0
  const { body } = await upstream.send(exchange)
  body.consume({
    data: () => {
      taken++
      return false
    },
    end: () => resolve('whole'),
    fail: ({ kind }) => resolve(kind),
  })

  for (const [index, ms] of holdsMs.entries()) {
    await eventually(() => taken > index)
    vi.advanceTimersByTime(ms)
    for (const socket of sockets) (index + 1 < holdsMs.length ? writeMore : cut)(socket)
    body.resume()
  }

  expect(await promise).toBe('truncated')
  expect(upstream.members[0]?.health.counts.failures).toBe(failures)
  expect(onBrokenAnswer).toHaveBeenCalledTimes(failures)
  expect(exchange.attempts.failed).toHaveLength(1)
})

test('a head that comes byte by byte, is read, and so are chunks of a byte with long extensions', async () => {
  const head = `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(3000)}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const body = `1;${'a'.repeat(500)}=b\r\nx\r\n`.repeat(3)
  const { url } = await rawUpstream((socket) => {
    socket.setNoDelay()
    onRequest(socket, async () => {
      for (const byte of `${head}${body}0\r\n\r\n`) {
        socket.write(byte)
        if (socket.writableNeedDrain) await turns(1)
      }
    })
  })

  expect(await readBody(openTestUpstream(url))).toBe('xxx')
})

describe('the part that has no reader', () => {
  test('of a response of a gigabyte, stays with the upstream', async () => {
    const chunk = Buffer.alloc(MiB)
    let written = 0
    const { url } = await rawUpstream((socket) =>
      onRequest(socket, () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${1024 * MiB}\r\n\r\n`)
        const more = (): void => {
          while (!socket.destroyed && socket.writableLength < 4 * MiB && written < 1024 * MiB) {
            written += chunk.length
            socket.write(chunk)
          }
        }
        more()
        socket.on('drain', more)
      }),
    )
    const upstream = openTestUpstream(url, { maxConnections: 1 })
    const exchange = fakeExchange()
    const { body } = await upstream.send(exchange)
    let taken = 0
    body.consume({
      data: (chunk) => {
        taken += chunk.length
        return false
      },
      end: () => {},
      fail: () => {},
    })

    await turns(200)

    expect(taken).toBeLessThan(MiB)
    expect(written).toBeLessThan(64 * MiB) // what the system and the upstream itself keep
    exchange.abort(new GatewayError('client-gone'))
    expect(upstream.members[0]?.endpoint.inFlight).toBe(0)
  })

  test('of an upload of a gigabyte, stays with the client', async () => {
    const { url } = await rawUpstream((socket) => void socket.pause())
    const upstream = openTestUpstream(url, { maxConnections: 1 })
    const { exchange, taken } = createUpload(1024, MiB)
    const running = readBody(upstream, exchange)

    await turns(500)

    expect(taken.chunks).toBeGreaterThan(0)
    expect(taken.chunks).toBeLessThan(32)
    exchange.abort(new GatewayError('client-gone'))
    expect(await running).toBe('client-gone')
    expect(taken.stopped).toBe(true)
  })
})

describe('exchanges that are aborted at every phase', () => {
  // `ABORTS=10000 npx vitest run test/core/upstream/hostile-endpoint.test.ts` takes longer.
  const aborts = Number(process.env.ABORTS ?? 200)
  const maxConnections = 4
  const large = pseudoRandomBytes(300_000)

  const behaviours: readonly ((socket: Socket) => void)[] = [
    () => {},
    (socket) => socket.write('HTTP/1.1 2'),
    (socket) => socket.write('HTTP/1.1 103 Early\r\n\r\n'),
    (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
    (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n'),
    (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n'),
    (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${large.length}\r\n\r\n`)
      socket.write(large)
    },
    (socket) => socket.write('no HTTP\r\n\r\n'),
    (socket) => socket.end(),
    (socket) => socket.resetAndDestroy(),
  ]

  test('leave every slot free, and no upload unstopped', async () => {
    let state = 1
    const random = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0
      return (state >>> 8) % below
    }
    let isSound = false
    const held: Socket[] = []
    const { url } = await rawUpstream((socket) => {
      if (!isSound && random(20) === 0) return socket.resetAndDestroy()
      return onRequest(socket, (head) => {
        if (head.includes('?sound')) held.push(socket)
        else behaviours[random(behaviours.length)]?.(socket)
      })
    })
    const upstream = openTestUpstream(url, { maxConnections, maxPending: 16 })
    const uploads: { readonly started: boolean; readonly stopped: boolean }[] = []
    const one = async (): Promise<void> => {
      const streamed = random(3) === 0 ? createUpload(1 + random(20), 30_000) : null
      if (streamed !== null) uploads.push(streamed.taken)
      const exchange = streamed?.exchange ?? fakeExchange()
      const isPaused = random(2) === 0
      const finished = upstream.send(exchange).then(
        ({ body }) =>
          new Promise<void>((resolve) => {
            if (random(8) === 0) {
              body.discard()
              return resolve()
            }
            return body.consume({ data: () => !isPaused, end: resolve, fail: () => resolve() })
          }),
        () => {},
      )
      await turns(random(8))
      exchange.abort(new GatewayError('client-gone'))
      await finished
    }
    for (let n = 0; n < aborts; n += 20) await Promise.all(Array.from({ length: 20 }, one))
    isSound = true
    const endpoint = upstream.members[0]?.endpoint
    expect(endpoint?.inFlight).toBe(0)
    expect(uploads.filter(({ started, stopped }) => started && !stopped)).toEqual([])
    const bodies = Array.from({ length: maxConnections + 1 }, (_, n) =>
      readBody(upstream, fakeExchange({ client: `192.0.2.${n}`, query: '?sound' })),
    )
    await eventually(() => held.length === maxConnections) // every slot is free
    for (const socket of held.splice(0)) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    await eventually(() => held.length === 1)
    held[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    expect(await Promise.all(bodies)).toEqual(Array(maxConnections + 1).fill('ok'))
  })
})
