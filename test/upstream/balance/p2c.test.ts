import { expect, test } from 'vitest'
import { p2c } from '../../../src/upstream/balance/p2c.ts'
import { type FakeMember, fakes, Server, seeded, simulate, tally } from './fakes.ts'

const random = () => p2c<FakeMember>(seeded(7))

test('twice the latency is half the odds', () => {
  const members = fakes([100, 100])
  for (const [i, member] of members.entries()) member.latencyMs = 10 * (i + 1)

  const [fast = 0] = tally(random(), members, 30_000)

  expect(fast / 30_000).toBeCloseTo(2 / 3, 2)
})

test('requests on their way count relative to the weight', () => {
  const members = fakes([10, 30])
  for (const member of members) member.inFlight = member.weight

  const [light = 0] = tally(random(), members, 30_000)

  expect(light / 30_000).toBeCloseTo(1 / 4, 2)
})

test.each([[[100, 100, 100]], [[90, 100, 110]]])('of %j the two that are drawn are never the same', (weights) => {
  const members = fakes(weights)
  for (const member of members) member.latencyMs = 1e12
  const [fast] = members
  if (fast !== undefined) fast.latencyMs = 1

  const [drawn = 0] = tally(random(), members, 30_000)

  // Wherever it is drawn it wins: 1 less the chance that the two others are drawn.
  const [a = 0, b = 0, c = 0] = weights
  const total = a + b + c
  expect(drawn / 30_000).toBeCloseTo(1 - ((b / total) * c) / (total - b) - ((c / total) * b) / (total - c), 1)
})

test('one that was slow is asked again, and has its share back', () => {
  const servers = [new Server(5), new Server(5)]
  const [, slow] = servers
  slow?.latency.heard(5_000, 0)
  const pick = p2c<Server>(seeded(3))

  const first = simulate(pick, servers, { fromMs: 0, toMs: 1_000, everyMs: 2 })
  simulate(pick, servers, { fromMs: 1_000, toMs: 90_000, everyMs: 2 })
  const later = simulate(pick, servers, { fromMs: 90_000, toMs: 100_000, everyMs: 2 })

  expect(first[1]).toBeLessThan(10)
  expect((later[1] ?? 0) / 5_000).toBeGreaterThan(0.4)
})

test('a slower endpoint has less, so that none has a queue', () => {
  const servers = [new Server(5), new Server(50)]

  const [fast = 0, slow = 0] = simulate(p2c<Server>(seeded(5)), servers, { fromMs: 0, toMs: 10_000, everyMs: 1 })

  expect(slow).toBeLessThan(fast / 5)
  expect(slow).toBeGreaterThan(0)
})

test.each([0, 1 - 2 ** -53])('a generator that always says %d picks somebody', (always) => {
  const members = fakes([1, 0.1, 3, 1e4])

  for (let count = 1; count <= members.length; count++) {
    expect(members.slice(0, count)).toContain(p2c<FakeMember>(() => always)(members.slice(0, count), 0))
  }
})
