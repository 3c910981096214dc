import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { balancers, smoothWeightedRoundRobin } from '../../../../src/core/upstream/balancing/balancers.ts'
import { describeTests, runs, test, testAndDrill } from '../../../helpers/speed.ts'
import { FakeCandidate, fakes, Server, seeded, simulate, tally } from './fake-candidates.ts'

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** How far `count` selections may differ from their expectation: so many standard deviations, and one each way. */
const slack = (count: number, share: number, deviations: number): number =>
  deviations * Math.sqrt(count * share * (1 - share)) + 1

const expectShares = (counts: readonly number[], weights: readonly number[]): void => {
  for (const [i, weight] of weights.entries()) {
    const share = weight / sum(weights)
    expect(Math.abs((counts[i] ?? 0) - sum(counts) * share)).toBeLessThanOrEqual(slack(sum(counts), share, 5))
  }
}

describeTests.each(['p2c', 'least-requests', 'round-robin'] as const)('%s', (name) => {
  const createBalancer = <T extends FakeCandidate | Server>() => balancers[name]<T>(seeded(1))

  test('picks the only one there is, whatever its load; without a candidate there is no healthy endpoint', () => {
    const only = Object.assign(new FakeCandidate(1), { inFlight: 1_000, latencyMs: 1e9 })
    const pick = createBalancer<FakeCandidate>()

    expect(pick([only], 0)).toBe(only)
    expect(() => pick([], 0)).toThrow(expect.objectContaining({ kind: 'no-healthy-endpoint' }))
  })

  test.each([[[1, 1]], [[1, 100]], [[3, 7, 11]], [[0.1, 10_000]]])('with equal load %j share by weight', (weights) => {
    expectShares(tally(createBalancer<FakeCandidate>(), fakes(weights), 5_000), weights)
  })

  test('a weight that changes holds from then on, and nothing is made up for', () => {
    const members = fakes([100, 10])
    const pick = createBalancer<FakeCandidate>()
    tally(pick, members, 10_000)
    for (const [i, member] of members.entries()) member.weight = i === 0 ? 10 : 100

    expectShares(tally(pick, members, 1_000), [10, 100])
  })

  if (name !== 'round-robin') {
    test('one that hangs has less than 1 % after 3 s', () => {
      const servers = [5, Number.POSITIVE_INFINITY, 5, 5].map((serviceMs) => new Server(serviceMs))
      const pick = createBalancer<Server>()
      simulate(pick, servers, { fromMs: 0, toMs: 3_000, everyMs: 1 })

      const counts = simulate(pick, servers, { fromMs: 3_000, toMs: 8_000, everyMs: 1 })

      expect(counts[1]).toBeLessThan(50)
    })
  }

  test('one that stays open is not starved by others that leave as soon as they were selected', () => {
    const members = fakes([1, 100, 100, 100])
    const [light] = members
    const pick = createBalancer<FakeCandidate>()
    let last: FakeCandidate | undefined
    let count = 0

    for (let i = 0; i < 5_000; i++) {
      const left = last
      last = pick(
        members.filter((member) => member === light || member !== left),
        i,
      )
      if (last === light) count++
    }

    expect(count).toBeGreaterThan(5_000 / 301 / 2)
  })
})

describeTests('two choices', () => {
  type By = 'p2c' | 'least-requests' | 'both'
  type Row = [name: string, by: By, loads: readonly Partial<FakeCandidate>[], share: number]
  const [slow, fast] = [{ latencyMs: 1e12 }, { latencyMs: 1 }]

  /** Of these weights, the first with one load and all others with another. */
  const first = (weights: readonly number[], own: object, others: object, share: number): Row => {
    const loads = weights.map((weight, i) => ({ weight, ...(i === 0 ? own : others) }))
    return [`${JSON.stringify(own)} of ${weights} among ${JSON.stringify(others)}`, 'p2c', loads, share]
  }

  const perWeight = (weights: readonly number[], times: number) =>
    weights.map((weight) => ({ weight, inFlight: weight * times }))

  test.each<Row>([
    ['twice the latency is half the odds', 'p2c', [{ latencyMs: 10 }, { latencyMs: 20 }], 2 / 3],
    ['requests on their way count relative to the weight', 'p2c', perWeight([10, 30], 1), 1 / 4],
    // Wherever it is drawn it is the better one,
    first([100, 100, 100], fast, slow, 2 / 3),
    first([90, 100, 110], fast, slow, 0.6),
    first([10, 100], fast, slow, 2 / 11),
    first([100, 10], fast, slow, 1),
    first([1, 2, 3, 1000], fast, slow, 2 / 1006),
    // or the worse one: what it alone was drawn for.
    first([100, 100, 100], slow, fast, 0),
    first([90, 100, 110], slow, fast, 0),
    first([100, 10], slow, fast, 9 / 11),
    ['half the attempts a success are sixteen times the odds', 'both', [{ attempts: 1 }, { attempts: 2 }], 16 / 17],
    ['failing at once gains nothing', 'both', [{ inFlight: 60, latencyMs: 50 }, { attempts: 2 }], 16 / 17],
    ['those alike in load per weight share by weight', 'least-requests', perWeight([3, 7, 11], 4), 3 / 21],
    ['one more on its way costs the square', 'least-requests', [{ inFlight: 0 }, { inFlight: 1 }], 0.8],
  ])('%s: the first has its share by %s', (_, by, loads, share) => {
    for (const name of by === 'both' ? (['p2c', 'least-requests'] as const) : [by]) {
      const members = loads.map((load) => Object.assign(new FakeCandidate(), load))

      const [drawn = 0] = tally(balancers[name]<FakeCandidate>(seeded(7)), members, 30_000)

      expect(drawn / 30_000).toBeCloseTo(share, 2)
    }
  })

  test.each([0, 1 - 2 ** -53])('a generator that always returns %d selects a candidate', (always) => {
    const members = fakes([1, 0.1, 3, 1e4])

    for (let count = 1; count <= members.length; count++)
      expect(members.slice(0, count)).toContain(balancers.p2c<FakeCandidate>(() => always)(members.slice(0, count), 0))
  })
})

describeTests('turns', () => {
  /** Selects so many times among members of these weights and returns which, by their place. */
  const picks = (weights: readonly number[], count: number): number[] => {
    const members = fakes(weights)
    const pick = smoothWeightedRoundRobin<FakeCandidate>()
    return Array.from({ length: count }, (_, i) => members.indexOf(pick(members, i)))
  }

  test('equal weights take turns, a thousand rounds on as well', () => {
    expect(picks([100, 100, 100], 3_000)).toEqual(Array.from({ length: 3_000 }, (_, i) => i % 3))
  })

  test('one that was away has its next turn as if it had not been', () => {
    const members = fakes([100, 100, 100])
    const pick = smoothWeightedRoundRobin<FakeCandidate>()
    tally(pick, members, 30)
    tally(pick, members.slice(1), 1_000)

    const next = Array.from({ length: 6 }, (_, i) => members.indexOf(pick(members, i)))

    expect(next).toEqual([0, 1, 2, 0, 1, 2])
  })

  test('weights share the traffic in their proportion, evenly spread', () => {
    expect(picks([5, 1, 1], 14)).toEqual([0, 0, 1, 0, 2, 0, 0, 0, 0, 1, 0, 2, 0, 0])
  })

  test.each([[[100, 10]], [[1, 10_000]], [[3, 7, 11]]])('the proportion of %j is exact over one round', (weights) => {
    const counts = tally(smoothWeightedRoundRobin<FakeCandidate>(), fakes(weights), sum(weights) * 2)

    expect(counts).toEqual(weights.map((weight) => weight * 2))
  })
})

describe('the limits of shares', () => {
  const picks = 2_000
  const state = {
    weight: fc.oneof(fc.constantFrom(0.1, 1, 10, 100, 10_000), fc.double({ min: 0.1, max: 10_000, noNaN: true })),
    inFlight: fc.oneof(fc.constant(0), fc.nat(2_000)),
    latencyMs: fc.oneof(fc.constant(1), fc.double({ min: 1, max: 1e7, noNaN: true })),
  }
  const well = fc.record({ ...state, attempts: fc.constant(1) })
  const any = fc.record({ ...state, attempts: fc.double({ min: 1, max: 1e4, noNaN: true }) })
  const failing = fc.record({ ...state, attempts: fc.double({ min: 1.11, max: 1e4, noNaN: true }) })

  // Each selection sees another moment: a client that knows every load can do no better than choose the worst of them.
  const moments = (own: typeof any, siblings: typeof any) =>
    fc.integer({ min: 1, max: 9 }).chain((count) => {
      const others = fc.array(siblings, { minLength: count, maxLength: count })
      return fc.array(fc.tuple(own, others), { minLength: 1, maxLength: 4 })
    })

  testAndDrill.each(
    (['p2c', 'least-requests', 'round-robin'] as const).flatMap((name) => [
      [name, 'an endpoint', 2, moments(any, any)] as const,
      [name, 'an endpoint whose responses fail', 1, moments(failing, well)] as const,
    ]),
  )("by %s, %s has at most %d × its weight's share, whatever the loads", (name, _, times, drawn) => {
    fc.assert(
      fc.property(drawn, fc.integer(), (moments, seed) => {
        const pick = balancers[name]<FakeCandidate>(seeded(seed))
        const siblings = moments[0]?.[1].length ?? 0
        const members = Array.from({ length: 1 + siblings }, () => new FakeCandidate())
        let picked = 0
        let share = 0

        for (let i = 0; i < picks; i++) {
          const [own, others] = moments[i % moments.length] as (typeof moments)[number]
          for (const [place, load] of [own, ...others].entries()) Object.assign(members[place] as FakeCandidate, load)
          if (pick(members, i) === members[0]) picked++
          share += own.weight / sum(members.map(({ weight }) => weight)) / picks
        }

        // Chance adds six standard deviations once in 10⁹; turns may be ahead by a selection for each sibling.
        const limit = Math.min(1, times * share)
        expect(picked).toBeLessThanOrEqual(picks * limit + slack(picks, limit, 6) + siblings)
      }),
      { numRuns: runs(30) },
    )
  })
})
