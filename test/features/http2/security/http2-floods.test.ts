/** Floods of frames on one connection: it ends or costs little, and another client is served all the while. */
import { constants } from 'node:http2'
import { describe, expect } from 'vitest'
import {
  block,
  bootHttp2,
  codeOf,
  type Frame,
  frame,
  frameClient,
  get,
  head,
  isOwnCodec,
  missing,
} from '../../../helpers/http2.ts'
import { type Attack, attackedGateway, flood, maxGrowthBytes, repeatFrame } from '../../../helpers/http2-attack.ts'
import { drill, inDrills, test, testAndDrill } from '../../../helpers/speed.ts'
import { rawUpstream } from '../../../helpers/upstream.ts'

const upload = head(1, get('/valuation/score', 'POST'), false)
const begunHead = frame(1, 1, 1, block(...get()))
const bytes = (...values: number[]): Buffer => Buffer.from(values)
const cancel = (stream: number): Buffer => frame(3, 0, stream, bytes(0, 0, 0, 8))
const pings = repeatFrame(50, frame(6, 0, 0, Buffer.alloc(8)))

/** Begins with a frame, and then repeats another one until the connection ends. */
const endless =
  (each: Buffer, first: Buffer = Buffer.alloc(0)): Attack =>
  async (attacker) => {
    await attacker.send(first)
    await flood(attacker, 1000, () => repeatFrame(50, each))
  }

/** Opens a hundred requests a batch, and gives each up: `steps` are streams to open, or below 0 to cancel. */
const givenUp =
  (steps: (first: number) => number[]): Attack =>
  (attacker) =>
    flood(attacker, 400, (nth) =>
      Array.from({ length: 25 }, (_, n) => steps(nth * 100 + n * 4 + 1))
        .flat()
        .map((stream) => (stream < 0 ? cancel(-stream) : head(stream))),
    )

const pingUnread: Attack = async (attacker) => {
  attacker.socket.pause()
  await flood(attacker, 200, () => pings)
  attacker.socket.resume()
}

const endsForAbuse: readonly (readonly [name: string, attack: Attack])[] = [
  // CVE-2019-9512: each has to be answered, and a client that does not read lets the responses pile up.
  ['pings', (attacker) => flood(attacker, 1000, () => pings)],
  // CVE-2019-9515: each has to be acknowledged.
  ['settings, empty ones', endless(frame(4, 0, 0))],
]

/** Each with the requests that may reach the upstream. */
const ends: readonly (readonly [name: string, attack: Attack, begun: number])[] = [
  ['pings of a client that reads nothing', pingUnread, 0],
  // CVE-2024-27316: a head that never ends. It is no request yet, so no limit on requests holds.
  ['a head of endless small frames', endless(frame(9, 0, 1, block('x-a', 'b')), begunHead), 0],
  // CVE-2019-9518.
  ['frames without data, in the middle of a body', endless(frame(0, 0, 1), upload), 1],
  // CVE-2023-44487: each request is given up at once, so there are never too many under way, and the gateway works in
  // vain. 40,000 are sent.
  ['requests that are given up in the same packet', givenUp((n) => [n, -n, n + 2, -(n + 2)]), 20_000],
  ['requests that are given up one packet later', givenUp((n) => [n, -Math.max(1, n - 2), n + 2]), 20_000],
]

const moreOfThese: typeof ends = [
  ['settings that tell something', endless(frame(4, 0, 0, bytes(0, 3, 0, 0, 0, 9))), 0],
  ['a head of endless large frames', endless(frame(9, 0, 1, block('x-a', 'b'.repeat(16_000))), begunHead), 0],
  ['a head of endless empty frames', endless(frame(9, 0, 1), begunHead), 0],
]

describe.skipIf(missing !== null)('a flood', () => {
  const attack = attackedGateway()

  test.each(endsForAbuse)('of %s ends its connection for abuse', async (_, begin) => {
    const { attacker, statuses, grownBytes } = await attack(begin)

    await attacker.ended()
    const away = attacker.frames.find(({ type }) => type === 7)
    if (away !== undefined) expect(codeOf(away)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM) // it may be lost
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(grownBytes).toBeLessThan(maxGrowthBytes)
  })

  testAndDrill.each(inDrills ? moreOfThese : ends)('of %s ends its connection', async (_, begin, most) => {
    const { attacker, statuses, grownBytes, begun } = await attack(begin)

    await attacker.ended()
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(begun).toBeLessThanOrEqual(most)
    expect(grownBytes).toBeLessThan(maxGrowthBytes)
  })

  test('that is none, pings as clients send them, is answered', async () => {
    const { attacker } = await attack((attacker) => flood(attacker, 1, () => pings))

    await attacker.frame(({ type, flags }) => type === 6 && flags === 1)
    expect(attacker.socket.destroyed).toBe(false)
  })

  // Node has no event for any of these: they cost what it takes to read them, and hold nothing.
  drill.each<[string, Buffer]>([
    ['windows', frame(8, 0, 0, bytes(0, 0, 0, 1))],
    ['priorities', frame(2, 0, 3, bytes(0, 0, 0, 0, 9))],
    ['a kind that nobody knows', frame(0x77, 0, 0, bytes(1))],
  ])('of frames of %s keeps no client from being served, and fills no memory', async (_, each) => {
    const { statuses, grownBytes } = await attack(async (attacker) => {
      await attacker.send(upload)
      await flood(attacker, 200, () => repeatFrame(1000, each))
    })

    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(grownBytes).toBeLessThan(maxGrowthBytes)
  })

  // The attack: bodies that are read whole before they are sent on, a byte a frame, on as many streams as there may be.
  // A byte costs the client ten; kept as it came, it would cost the gateway more than two hundred.
  drill('of bytes, each a frame of a body, fills no memory', async () => {
    const streams = Array.from({ length: 100 }, (_, n) => 2 * n + 1)
    const byte = Buffer.concat(streams.map((stream) => frame(0, 0, stream, Buffer.from('a'))))
    const fields = [...get('/valuation/score', 'POST'), 'content-length', '65536']

    const { attacker, statuses, grownBytes } = await attack(async (attacker) => {
      await attacker.send(...streams.map((stream) => head(stream, fields, false)))
      await flood(attacker, 600, () => repeatFrame(10, byte))
      await attacker.send(frame(6, 0, 0, Buffer.alloc(8)))
      await attacker.frame(({ type }) => type === 6) // all of it has been read
    })

    expect(attacker.socket.destroyed).toBe(false)
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(grownBytes).toBeLessThan(maxGrowthBytes)
  })
})

// RFC 9113 §6.1 allows them; nginx and HAProxy serve them.
test.skipIf(missing !== null)('a few hundred frames without data, in one body or in many, end nothing', async () => {
  const { port } = await bootHttp2()
  const client = await frameClient(port)

  await client.send(upload, ...repeatFrame(500, frame(0, 0, 1)), frame(0, 1, 1))
  const first = await client.frame(({ type, stream }) => type === 1 && stream === 1)
  const others: unknown[] = []
  for (let stream = 3; stream < 43; stream += 2) {
    const post = head(stream, get('/valuation/score', 'POST'), false)
    await client.send(post, ...repeatFrame(5, frame(0, 0, stream)), frame(0, 1, stream))
    others.push(await client.frame((each) => each.type === 1 && each.stream === stream))
  }

  expect([first, ...others].map((each) => (each as Frame | undefined)?.payload[0])).toEqual(Array(21).fill(136))
})

// CVE-2025-8671: the client has the gateway reset its requests, for trailers that are malformed, or that are too many
// for Node's codec, which no other part counts.
test.skipIf(missing !== null)('requests that the gateway has to reset end their connection as well', async () => {
  const upstream = await rawUpstream(() => {})
  const { port, line } = await bootHttp2({ upstream: upstream.url })
  const client = await frameClient(port)
  const trailers = isOwnCodec ? block('X-A', 'b') : block(...Array.from({ length: 1000 }, () => 'x'))
  const three = (stream: number): Buffer[] => [
    head(stream, get('/valuation/score', 'POST'), false),
    frame(0, 0, stream, Buffer.from('abc')),
    frame(1, 5, stream, trailers),
  ]

  // Many at once: one after another, a slow machine would have fewer in a second than a client may.
  for (let first = 1; first < 4000 && !client.socket.destroyed; first += 50) {
    const streams = Array.from({ length: 25 }, (_, n) => first + 2 * n)
    await client.send(...streams.flatMap(three))
    await client.frame((each) => each.type === 3 && each.stream === streams.at(-1))
  }

  const cause = isOwnCodec
    ? 'too many frames without progress: frames that break a request'
    : 'too many requests that break the protocol'
  expect(await line((each) => each.cause === cause)).toMatchObject({ status: 400 })
  await client.ended()
  expect(upstream.accepted()).toBeLessThan(500)
})

// Each code takes a way of its own through Node, and none may end in an error without a listener.
test.skipIf(missing !== null)(
  'bodies that are broken off, with whatever code, leave the connection as it is',
  async () => {
    const { port, lines, line } = await bootHttp2()
    const client = await frameClient(port)

    for (const [nth, code] of [0, 1, 2, 8, 11].entries()) {
      const stream = 4 * nth + 1
      const post = head(stream, get('/valuation/score', 'POST'), false)
      const data = frame(0, 0, stream, Buffer.from('abc'))
      await client.send(post, data, frame(3, 0, stream, bytes(0, 0, 0, code)), head(stream + 2))
      await client.frame((each) => each.type === 1 && each.stream === stream + 2)
    }

    const isServed = ({ operation, status }: { readonly [field: string]: unknown }): boolean =>
      operation === 'market.insights' && status === 200
    await line(() => lines.filter(isServed).length === 5)
  },
)
