import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { balancers } from '../../../../src/core/upstream/balancing/balancers.ts'
import { runs, test, testAndDrill } from '../../../helpers/speed.ts'
import { type FakeCandidate, fakes, Server, seeded, simulate, tally } from './fake-candidates.ts'

/**
 * How far `count` selections may differ from their expectation: five standard deviations, and one selection each way.
 */
const slack = (count: number, share: number): number => 5 * Math.sqrt(count * share * (1 - share)) + 1

const expectShares = (counts: readonly number[], weights: readonly number[]): void => {
  const count = counts.reduce((sum, each) => sum + each, 0)
  const total = weights.reduce((sum, each) => sum + each, 0)
  for (const [i, weight] of weights.entries()) {
    const share = weight / total
    expect(Math.abs((counts[i] ?? 0) - count * share)).toBeLessThanOrEqual(slack(count, share))
  }
}

const rotated = <T>(list: readonly T[], by: number): T[] => {
  const at = by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}

describe.each(['p2c', 'least-requests', 'round-robin'] as const)('%s', (name) => {
  const createBalancer = <T extends FakeCandidate | Server>(seed = 1) => balancers[name]<T>(seeded(seed))

  test('picks the only one there is, whatever its load', () => {
    const [only] = fakes([1])
    const pick = createBalancer<FakeCandidate>()
    if (only === undefined) throw new Error('no member')
    only.inFlight = 1_000
    only.latencyMs = 1e9

    expect(pick([only], 0)).toBe(only)
  })

  test('without a candidate there is no healthy endpoint', () => {
    expect(() => createBalancer<FakeCandidate>()([], 0)).toThrow(
      expect.objectContaining({ kind: 'no-healthy-endpoint' }),
    )
  })

  test.each([[[1, 1]], [[100, 100, 100]], [[100, 1]], [[1, 100]], [[5, 1, 1]], [[3, 7, 11]], [[0.1, 10_000]]])(
    'with equal load %j share by weight',
    (weights) => {
      const members = fakes(weights)

      const counts = tally(createBalancer<FakeCandidate>(), members, 20_000)

      expectShares(counts, weights)
    },
  )

  test('the order in which they are open does not matter', () => {
    const weights = [50, 100, 200]
    const members = fakes(weights)
    const pick = createBalancer<FakeCandidate>()
    const counts = [0, 0, 0]

    for (let i = 0; i < 20_000; i++) {
      const place = members.indexOf(pick(rotated(members, i), i))
      counts[place] = (counts[place] ?? 0) + 1
    }

    expectShares(counts, weights)
  })

  test('a weight that changes holds from then on, and nothing is made up for', () => {
    const members = fakes([100, 10])
    const pick = createBalancer<FakeCandidate>()
    tally(pick, members, 10_000)
    for (const [i, member] of members.entries()) member.weight = i === 0 ? 10 : 100

    const counts = tally(pick, members, 1_000)

    expectShares(counts, [10, 100])
  })

  test('a candidate that was away comes back without a burst', () => {
    const members = fakes([100, 100])
    const pick = createBalancer<FakeCandidate>()
    tally(pick, members, 101)
    tally(pick, members.slice(1), 5_000)

    const counts = tally(pick, members, 200)

    expectShares(counts, [100, 100])
  })

  test('those that remain share by weight while one is away', () => {
    const members = fakes([100, 30, 60])
    const pick = createBalancer<FakeCandidate>()
    tally(pick, members, 1_000)

    const counts = tally(pick, members.slice(1), 9_000)

    expectShares(counts, [30, 60])
  })

  test('a canary has about its share when there is little to do', () => {
    const servers = [new Server(5, 100), new Server(5, 1)]

    const counts = simulate(createBalancer<Server>(), servers, { fromMs: 0, toMs: 500_000, everyMs: 5 })

    expect((counts[1] ?? 0) / 100_000).toBeGreaterThan(0.5 / 101)
    expect((counts[1] ?? 0) / 100_000).toBeLessThan(2 / 101)
  })

  if (name !== 'round-robin') {
    test('the one with more in flight gets less', () => {
      const members = fakes([100, 100])
      for (const [i, member] of members.entries()) member.inFlight = i === 0 ? 8 : 2

      const [loaded = 0, other = 0] = tally(createBalancer<FakeCandidate>(), members, 10_000)

      expect(loaded).toBeLessThan(other * 0.5)
      expect(loaded).toBeGreaterThan(0)
    })

    test.each([1, 2, 3])('one that hangs has less than 1 %% after 3 s (seed %i)', (seed) => {
      const servers = [new Server(5), new Server(Number.POSITIVE_INFINITY), new Server(5), new Server(5)]
      const pick = createBalancer<Server>(seed)
      simulate(pick, servers, { fromMs: 0, toMs: 3_000, everyMs: 1 })

      const counts = simulate(pick, servers, { fromMs: 3_000, toMs: 8_000, everyMs: 1 })

      expect(counts[1]).toBeLessThan(50)
    })
  }

  // With turns, a candidate with a share of at least s waits at most 2 × (n − 1) / s + 1 selections. With two choices
  // it is selected with s / c at least, c being how much larger its load is than the smallest; 25 times the inverse of
  // that fails once in e^25.
  const max = { others: 3, inFlight: 2, latency: 3, weight: 2, attempts: 1.5 }
  const minShare = 1 / (1 + max.others * max.weight)
  const maxLoad = 1 + max.inFlight * max.weight
  const maxWait = {
    'round-robin': Math.ceil((2 * max.others) / minShare + 1 - 1e-9),
    'least-requests': Math.ceil((25 * maxLoad ** 2 * max.attempts ** 4) / minShare),
    p2c: Math.ceil((25 * maxLoad * max.latency * max.attempts ** 4) / minShare),
  }[name]

  const moment = fc.record({
    open: fc.array(fc.boolean(), { minLength: max.others, maxLength: max.others }),
    loads: fc.array(
      fc.record({
        inFlight: fc.nat(max.inFlight),
        latencyMs: fc.integer({ min: 1, max: max.latency }),
        attempts: fc.double({ min: 1, max: max.attempts, noNaN: true }),
        weight: fc.double({ min: 1, max: max.weight, noNaN: true }),
      }),
      { minLength: max.others + 1, maxLength: max.others + 1 },
    ),
  })

  testAndDrill(`one that stays open is selected within ${maxWait} selections, whatever the others do`, () => {
    fc.assert(
      fc.property(fc.array(moment, { minLength: 1, maxLength: 12 }), fc.integer(), (moments, seed) => {
        const members = fakes(new Array(max.others + 1).fill(1))
        const [watched, ...others] = members
        const pick = createBalancer<FakeCandidate>(seed)
        let waited = 0

        for (let i = 0; i < maxWait * 2; i++) {
          const { open, loads } = moments[i % moments.length] as (typeof moments)[number]
          for (const [place, load] of loads.entries()) Object.assign(members[place] as FakeCandidate, load)
          const candidates = [...others.filter((_, place) => open[place]), watched as FakeCandidate]
          const picked = pick(candidates, i)
          if (!candidates.includes(picked)) throw new Error('picked one that is not open')
          waited = picked === watched ? 0 : waited + 1
          if (waited > maxWait) throw new Error(`waited for ${waited} picks`)
        }
      }),
      { numRuns: runs(15) },
    )
  })

  test('one that stays open is not starved by others that leave as soon as they were selected', () => {
    const members = fakes([1, 100, 100, 100])
    const [light] = members
    const pick = createBalancer<FakeCandidate>()
    const counts = [0, 0, 0, 0]
    let last: FakeCandidate | undefined

    for (let i = 0; i < 20_000; i++) {
      const picked = pick(
        members.filter((member) => member === light || member !== last),
        i,
      )
      const place = members.indexOf(picked)
      counts[place] = (counts[place] ?? 0) + 1
      last = picked
    }

    expect(counts[0]).toBeGreaterThan(20_000 / 301 / 2)
  })

  test('whatever the loads, it picks one of those that are open', () => {
    const load = fc.record({
      inFlight: fc.nat(2_000),
      latencyMs: fc.double({ min: 1, max: 1e7, noNaN: true }),
      attempts: fc.double({ min: 1, max: 1e6, noNaN: true }),
      weight: fc.double({ min: 0.1, max: 10_000, noNaN: true }),
      open: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(fc.array(load, { minLength: 4, maxLength: 4 }), { minLength: 1 }),
        fc.integer(),
        (steps, seed) => {
          const members = fakes([1, 1, 1, 1])
          const pick = createBalancer<FakeCandidate>(seed)

          for (const [i, loads] of steps.entries()) {
            for (const [place, member] of members.entries()) Object.assign(member, loads[place])
            const open = members.filter((_, place) => loads[place]?.open)
            if (open.length > 0) expect(open).toContain(pick(open, i))
          }
        },
      ),
    )
  })
})
