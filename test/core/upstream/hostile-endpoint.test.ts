import type { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Upload } from '../../../src/core/exchange/body.ts'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { Upstream } from '../../../src/core/upstream/upstream.ts'
import { fakeAttempts, fakeBody, fakeExchange } from '../../helpers/exchange.ts'
import { openTestUpstream } from '../../helpers/open-upstream.ts'
import { onRequest, rawUpstream } from '../../helpers/upstream.ts'
import { eventually, pseudoRandomBytes } from '../../helpers/wire.ts'

const clientGone = () => new GatewayError('client-gone')
const endpointOf = (upstream: Upstream) => upstream.members[0]?.endpoint
const failuresOf = (upstream: Upstream) => upstream.members[0]?.health.counts.failures

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
  return { exchange: fakeExchange({ operation: 'valuation.score', body: { ...fakeBody(null), stream } }), taken }
}

const reset = (socket: Socket): void => void socket.resetAndDestroy()

const early = 'HTTP/1.1 103 Early\r\n\r\n'
const byLength = 'HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nwhole'
const inChunks = `${early}HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a="b"\r\nwhole\r\n0\r\nC: d\r\n\r\n`
const upToEnd = 'HTTP/1.0 200 OK\r\nA: b\r\n\r\nwhole'

test.each([
  ['by length', 'ends', byLength, byLength.length],
  ['in chunks', 'ends', inChunks, inChunks.length],
  ['up to the end', 'ends', upToEnd, upToEnd.length - 'whole'.length],
  ['in chunks', 'is reset', inChunks, inChunks.length],
] as const)(
  'a response %s whose connection %s at any byte is never taken for whole, and leaves nothing',
  async (_, how, bytes, wholeAt) => {
    let cut: number | null = 0
    const { url } = await rawUpstream((socket) => {
      socket.setNoDelay()
      onRequest(socket, () => {
        if (cut === null) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext')
        else socket.write(bytes.slice(0, cut), 'latin1', () => (how === 'ends' ? socket.end() : reset(socket)))
      })
    })
    const upstream = openTestUpstream(url, { maxConnections: 1 })
    const headEndsAt = bytes.indexOf('\r\n\r\n', bytes.lastIndexOf('HTTP/1.')) + 4
    const expectedAt = (at: number): string[] => {
      if (at >= wholeAt && how === 'ends') return [bytes.slice(wholeAt, at)]
      if (at < headEndsAt) return ['reset-before-headers']
      // A reset may overtake what was written before it.
      return how === 'ends' ? ['truncated'] : ['truncated', 'reset-before-headers']
    }
    const wrong: string[] = []

    for (let at = 0; at < bytes.length; at++) {
      cut = at
      const actual = await readBody(upstream)
      if (!expectedAt(at).includes(actual)) wrong.push(`${at}: ${actual}, not ${expectedAt(at)}`)
      cut = null
      const next = await readBody(upstream)
      if (next !== 'next') wrong.push(`after ${at}: ${next}`)
    }

    expect(wrong).toEqual([])
    expect(endpointOf(upstream)?.inFlight).toBe(0)
  },
)

test.each([
  ['the only attempt', 0, 1],
  ['the second attempt, which may have had too little of it', 1, 0],
])('a response that has not ended by the deadline is told to its exchange, of %s', async (_, count, failures) => {
  const { url } = await rawUpstream((socket) =>
    onRequest(socket, () => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na part')),
  )
  const onBrokenResponse = vi.fn()
  const upstream = openTestUpstream(url)
  const exchange = Object.assign(fakeExchange(), { onBrokenResponse, attempts: fakeAttempts({ count }) })

  await upstream.send(exchange)
  exchange.abort(new GatewayError('deadline-exceeded'))

  expect([onBrokenResponse.mock.calls.length, failuresOf(upstream)]).toEqual([failures, failures])
})

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
  const onBrokenResponse = vi.fn()
  const exchange = Object.assign(fakeExchange(), { onBrokenResponse })
  const { promise, resolve } = Promise.withResolvers<string>()
  const data = vi.fn(() => false)
  const { body } = await upstream.send(exchange)
  body.consume({ data, end: () => resolve('whole'), fail: ({ kind }) => resolve(kind) })

  for (const [index, ms] of holdsMs.entries()) {
    await eventually(() => data.mock.calls.length > index)
    vi.advanceTimersByTime(ms)
    for (const socket of sockets) {
      if (index + 1 < holdsMs.length) socket.write('1\r\nb\r\n')
      else cut(socket)
    }
    body.resume()
  }

  expect(await promise).toBe('truncated')
  expect([failuresOf(upstream), onBrokenResponse.mock.calls.length]).toEqual([failures, failures])
  expect(exchange.attempts.failed).toHaveLength(1)
})

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const large = pseudoRandomBytes(300_000).toString('latin1')

/** What an endpoint does with a request: it writes some bytes, or closes. */
const behaviors: readonly (string | ((socket: Socket) => void))[] = [
  ...['', 'HTTP/1.1 2', early, 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', ok, `${ok}HTTP/1.1 200 OK\r\n\r\n`],
  ...['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n', 'no HTTP\r\n\r\n'],
  `HTTP/1.1 200 OK\r\nContent-Length: ${large.length}\r\n\r\n${large}`,
  ...[(socket: Socket) => void socket.end(), reset],
]

// `ABORTS=10000 npx vitest run test/core/upstream/hostile-endpoint.test.ts` takes longer.
const aborts = Number(process.env.ABORTS ?? 200)

test('exchanges that are aborted at every phase leave every slot free, and no upload unstopped', async () => {
  const maxConnections = 4
  let state = 1
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return (state >>> 8) % below
  }
  let isSound = false
  const held: Socket[] = []
  const { url } = await rawUpstream((socket) => {
    if (!isSound && random(20) === 0) return reset(socket)
    return onRequest(socket, (head) => {
      const behavior = behaviors[random(behaviors.length)] ?? ''
      if (head.includes('?sound')) held.push(socket)
      else if (typeof behavior === 'string') socket.write(behavior, 'latin1')
      else behavior(socket)
    })
  })
  const upstream = openTestUpstream(url, { maxConnections, maxPending: 16 })
  const uploads: ReturnType<typeof createUpload>['taken'][] = []
  const one = async (): Promise<void> => {
    const streamed = random(3) === 0 ? createUpload(1 + random(20), 30_000) : null
    if (streamed !== null) uploads.push(streamed.taken)
    const exchange = streamed?.exchange ?? fakeExchange()
    const isPaused = random(2) === 0
    const finished = upstream.send(exchange).then(
      ({ body }) => {
        if (random(8) === 0) return body.discard()
        const { promise, resolve } = Promise.withResolvers<void>()
        body.consume({ data: () => !isPaused, end: resolve, fail: () => resolve() })
        return promise
      },
      () => {},
    )
    await turns(random(8))
    exchange.abort(clientGone())
    await finished
  }

  for (let n = 0; n < aborts; n += 20) await Promise.all(Array.from({ length: 20 }, one))

  isSound = true
  expect(endpointOf(upstream)?.inFlight).toBe(0)
  expect(uploads.filter(({ started, stopped }) => started && !stopped)).toEqual([])
  const bodies = Array.from({ length: maxConnections + 1 }, (_, n) =>
    readBody(upstream, fakeExchange({ client: `192.0.2.${n}`, query: '?sound' })),
  )
  await eventually(() => held.length === maxConnections) // every slot is free
  for (const socket of held.splice(0)) socket.write(ok)
  await eventually(() => held.length === 1)
  held[0]?.write(ok)
  expect(await Promise.all(bodies)).toEqual(Array(maxConnections + 1).fill('ok'))
})
