import { expect, test } from 'vitest'
import { block, bootHttp2, frame, frameClient, get, head, missing } from '../../../helpers/http2.ts'
import { flood, maxGrowthBytes, runAttack } from '../../../helpers/http2-attack.ts'
import { rawUpstream } from '../../../helpers/upstream.ts'

const cancel = (stream: number): Buffer => frame(3, 0, stream, Buffer.from([0, 0, 0, 8]))

// CVE-2023-44487: each request is given up at once, so there are never too many under way, and the gateway works in
// vain.
test.skipIf(missing !== null).each<[string, (first: number) => Buffer[]]>([
  ['in the same packet', (first) => [head(first), cancel(first), head(first + 2), cancel(first + 2)]],
  ['one packet later', (first) => [head(first + 2), cancel(Math.max(1, first - 2)), head(first)].reverse()],
])('requests that are given up %s end their connection', async (_, four) => {
  const streams = (nth: number): Buffer[] => Array.from({ length: 25 }, (__, n) => four(nth * 100 + n * 4 + 1)).flat()

  const { attacker, statuses, grownBytes, begun } = await runAttack((attacker) => flood(attacker, 400, streams))

  await attacker.ended()
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(begun).toBeLessThan(20_000) // as many as were sent
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})

// CVE-2025-8671: the client has the gateway reset its requests, for trailers that are too many here, which no other
// part counts.
test.skipIf(missing !== null)('requests that the gateway has to reset end their connection as well', async () => {
  const upstream = await rawUpstream(() => {})
  const { port, line } = await bootHttp2({ upstream: upstream.url })
  const client = await frameClient(port)
  const trailers = block(...Array.from({ length: 1000 }, () => 'x'))
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

  expect(await line(({ cause }) => cause === 'too many requests that break the protocol')).toMatchObject({
    status: 400,
  })
  await client.ended()
  expect(upstream.accepted()).toBeLessThan(500)
})

// Each code takes a way of its own through Node, and none may end in an error without a listener.
test.skipIf(missing !== null).each([0, 1, 2, 8, 11])(
  'a body that is broken off with code %i leaves the connection as it is',
  async (code) => {
    const { port, line } = await bootHttp2()
    const client = await frameClient(port)
    const reset = frame(3, 0, 1, Buffer.from([0, 0, 0, code]))

    await client.send(
      head(1, get('/valuation/score', 'POST'), false),
      frame(0, 0, 1, Buffer.from('abc')),
      reset,
      head(3),
    )

    await client.frame(({ type, stream }) => type === 1 && stream === 3)
    expect(await line(({ operation }) => operation === 'market.insights')).toMatchObject({ status: 200 })
  },
)
