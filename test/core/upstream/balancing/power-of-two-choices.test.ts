import { expect, test } from 'vitest'
import { balancers } from '../../../../src/core/upstream/balancing/balancers.ts'
import { type FakeCandidate, fakes, Server, seeded, simulate, tally } from './fake-candidates.ts'

const { p2c, 'least-requests': leastRequests } = balancers

const random = () => p2c<FakeCandidate>(seeded(7))

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

test.each([
  [[100, 100, 100], 2 / 3],
  [[90, 100, 110], 0.6],
  [[10, 100], 2 / 11],
  [[100, 10], 1],
  [[1, 2, 3, 1000], 2 / 1006],
] as const)('of %j the first, wherever it is drawn the better one, has %f', (weights, share) => {
  const members = fakes(weights)
  for (const member of members) member.latencyMs = 1e12
  const [fast] = members
  if (fast !== undefined) fast.latencyMs = 1

  const [drawn = 0] = tally(random(), members, 30_000)

  expect(drawn / 30_000).toBeCloseTo(share, 2)
})

test.each([
  [[100, 100, 100], 0],
  [[90, 100, 110], 0],
  [[100, 10], 9 / 11],
] as const)(
  'of %j the first, wherever it is drawn the worse one, has %f: what it alone was drawn for',
  (weights, share) => {
    const members = fakes(weights)
    const [slow] = members
    if (slow !== undefined) slow.latencyMs = 1e12

    const [drawn = 0] = tally(random(), members, 30_000)

    expect(drawn / 30_000).toBeCloseTo(share, 2)
  },
)

test.each([
  ['p2c', p2c],
  ['least-requests', leastRequests],
])('by %s, one whose successes take twice the attempts has a sixteenth of the odds', (_, balance) => {
  const members = fakes([100, 100])
  for (const [i, member] of members.entries()) member.attempts = 1 + i

  const [, failing = 0] = tally(balance<FakeCandidate>(seeded(7)), members, 30_000)

  expect(failing / 30_000).toBeCloseTo(1 / 17, 2)
})

test.each([
  ['p2c', p2c],
  ['least-requests', leastRequests],
])('by %s, one that fails gains nothing by failing at once', (_, balance) => {
  const members = fakes([100, 100])
  const [sound, failing] = members
  if (sound !== undefined) Object.assign(sound, { inFlight: 60, latencyMs: 50 })
  if (failing !== undefined) failing.attempts = 2

  const [, failed = 0] = tally(balance<FakeCandidate>(seeded(7)), members, 30_000)

  expect(failed / 30_000).toBeCloseTo(1 / 17, 2)
})

test('of two that fail as much, the less loaded has more', () => {
  const members = fakes([100, 100])
  for (const [i, member] of members.entries()) Object.assign(member, { attempts: 2, latencyMs: 10 * (i + 1) })

  const [fast = 0] = tally(random(), members, 30_000)

  expect(fast / 30_000).toBeCloseTo(2 / 3, 2)
})

test('by least-requests, requests on their way count relative to the weight, and those alike in that share by weight', () => {
  const weights = [3, 7, 11]
  const members = fakes(weights)
  for (const [i, member] of members.entries()) member.inFlight = 4 * (weights[i] ?? 0)

  const counts = tally(leastRequests<FakeCandidate>(seeded(7)), members, 30_000)

  for (const [i, count] of counts.entries()) expect(count / 30_000).toBeCloseTo((weights[i] ?? 0) / 21, 2)
})

test('by least-requests, one more on its way costs the square of what there is', () => {
  const members = fakes([100, 100])
  for (const [i, member] of members.entries()) member.inFlight = i

  const [free = 0] = tally(leastRequests<FakeCandidate>(seeded(7)), members, 30_000)

  expect(free / 30_000).toBeCloseTo(0.8, 2)
})

test('by least-requests, how long responses take changes nothing', () => {
  const members = fakes([100, 100])
  for (const [i, member] of members.entries()) member.latencyMs = 1 + i * 1_000

  const [one = 0] = tally(leastRequests<FakeCandidate>(seeded(7)), members, 30_000)

  expect(one / 30_000).toBeCloseTo(0.5, 2)
})

test('one that was slow is asked again, and has its share back', () => {
  const servers = [new Server(5), new Server(5)]
  const [, slow] = servers
  slow?.latency.headReceived(5_000, 0)
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

test.each([0, 1 - 2 ** -53])('a generator that always returns %d selects a candidate', (always) => {
  const members = fakes([1, 0.1, 3, 1e4])

  for (let count = 1; count <= members.length; count++) {
    expect(members.slice(0, count)).toContain(p2c<FakeCandidate>(() => always)(members.slice(0, count), 0))
  }
})
