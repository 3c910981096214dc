import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { balancers, smoothWeightedRoundRobin } from '../../../../src/core/upstream/balancing/balancers.ts'
import { describeTests, runs, test, testAndDrill } from '../../../helpers/speed.ts'
import { FakeCandidate, fakes, Server, seeded, simulate, tally } from './fake-candidates.ts'

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

  test.each([[[1, 1]], [[1, 100]], [[3, 7, 11]], [[0.1, 10_000]]])('with equal load %j share by weight', (weights) => {
    const members = fakes(weights)

    const counts = tally(createBalancer<FakeCandidate>(), members, 5_000)

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

  if (name !== 'round-robin') {
    test('one that hangs has less than 1 % after 3 s', () => {
      const servers = [new Server(5), new Server(Number.POSITIVE_INFINITY), new Server(5), new Server(5)]
      const pick = createBalancer<Server>()
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
      { numRuns: runs(5) },
    )
  })

  test('one that stays open is not starved by others that leave as soon as they were selected', () => {
    const members = fakes([1, 100, 100, 100])
    const [light] = members
    const pick = createBalancer<FakeCandidate>()
    const counts = [0, 0, 0, 0]
    let last: FakeCandidate | undefined

    for (let i = 0; i < 5_000; i++) {
      const picked = pick(
        members.filter((member) => member === light || member !== last),
        i,
      )
      const place = members.indexOf(picked)
      counts[place] = (counts[place] ?? 0) + 1
      last = picked
    }

    expect(counts[0]).toBeGreaterThan(5_000 / 301 / 2)
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

describeTests('two choices', () => {
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

  test.each([0, 1 - 2 ** -53])('a generator that always returns %d selects a candidate', (always) => {
    const members = fakes([1, 0.1, 3, 1e4])

    for (let count = 1; count <= members.length; count++) {
      expect(members.slice(0, count)).toContain(p2c<FakeCandidate>(() => always)(members.slice(0, count), 0))
    }
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
    const members = fakes(weights)
    const pick = smoothWeightedRoundRobin<FakeCandidate>()
    const total = weights.reduce((sum, weight) => sum + weight, 0)

    const counts = tally(pick, members, total * 2)

    expect(counts).toEqual(weights.map((weight) => weight * 2))
  })
})

describe('the limits of shares', () => {
  const picks = 2_000

  /**
   * What chance may add to a count that is expected to be at most `picks` × `share`: six standard deviations, once in
   * 10⁹.
   */
  const slack = (share: number): number => 6 * Math.sqrt(picks * share * (1 - share)) + 1

  const state = {
    weight: fc.oneof(fc.constantFrom(0.1, 1, 10, 100, 10_000), fc.double({ min: 0.1, max: 10_000, noNaN: true })),
    inFlight: fc.oneof(fc.constant(0), fc.nat(2_000)),
    latencyMs: fc.oneof(fc.constant(1), fc.double({ min: 1, max: 1e7, noNaN: true })),
  }

  const well = fc.record({ ...state, attempts: fc.constant(1) })
  const any = fc.record({ ...state, attempts: fc.double({ min: 1, max: 1e4, noNaN: true }) })

  type Moments = readonly (readonly [own: Partial<FakeCandidate>, siblings: readonly Partial<FakeCandidate>[]])[]

  /** What turns may be ahead by: a selection for each sibling. */
  const ahead = ([first]: Moments): number => first?.[1].length ?? 0

  // Each selection sees another moment: a client that knows every load can do no better than choose the worst of them.
  const moments = (member: fc.Arbitrary<Partial<FakeCandidate>>, siblings: fc.Arbitrary<Partial<FakeCandidate>>) =>
    fc.integer({ min: 1, max: 9 }).chain((count) =>
      fc.array(fc.tuple(member, fc.array(siblings, { minLength: count, maxLength: count })), {
        minLength: 1,
        maxLength: 4,
      }),
    )

  describe.each(['p2c', 'least-requests', 'round-robin'] as const)('%s', (name) => {
    /**
     * Selects repeatedly among a member and its siblings; returns how often it was the member, and its weight's share.
     */
    const play = (at: Moments, seed: number) => {
      const pick = balancers[name]<FakeCandidate>(seeded(seed))
      const members = Array.from({ length: 1 + ahead(at) }, () => new FakeCandidate())
      let picked = 0
      let share = 0
      for (let i = 0; i < picks; i++) {
        const [own, siblings] = at[i % at.length] as Moments[number]
        for (const [place, load] of [own, ...siblings].entries()) Object.assign(members[place] as FakeCandidate, load)
        if (pick(members, i) === members[0]) picked++
        share += (own.weight ?? 0) / members.reduce((sum, { weight }) => sum + weight, 0) / picks
      }
      return { picked, share }
    }

    testAndDrill(
      "an endpoint has at most 2 × its weight's share, whatever the latencies, weights and requests on their way",
      () => {
        fc.assert(
          fc.property(moments(any, any), fc.integer(), (at, seed) => {
            const { picked, share } = play(at, seed)

            const limit = Math.min(1, 2 * share)
            expect(picked).toBeLessThanOrEqual(picks * limit + slack(limit) + ahead(at))
          }),
          { numRuns: runs(30) },
        )
      },
    )

    testAndDrill(
      "an endpoint whose responses fail has at most 1 × its weight's share, whatever the latencies, weights and requests on their way",
      () => {
        const failing = fc.record({ ...state, attempts: fc.double({ min: 1.11, max: 1e4, noNaN: true }) })
        fc.assert(
          fc.property(moments(failing, well), fc.integer(), (at, seed) => {
            const { picked, share } = play(at, seed)

            expect(picked).toBeLessThanOrEqual(picks * share + slack(share) + ahead(at))
          }),
          { numRuns: runs(30) },
        )
      },
    )
  })
})
