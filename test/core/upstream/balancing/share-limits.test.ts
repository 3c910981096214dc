import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { balancers } from '../../../../src/core/upstream/balancing/balancers.ts'
import { runs, test, testAndDrill } from '../../../helpers/speed.ts'
import { FakeCandidate, seeded } from './fake-candidates.ts'

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
        { numRuns: runs(60) },
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
        { numRuns: runs(60) },
      )
    },
  )

  test('a fast canary that responds with 4xx has at most 2 × its share, with 0 to 64 requests on their way beside it', () => {
    fc.assert(
      fc.property(fc.nat(64), fc.integer(), (inFlight, seed) => {
        const canary = { weight: 10, inFlight: 0, latencyMs: 1, attempts: 1 }
        const stable = { weight: 100, inFlight, latencyMs: 50, attempts: 1 }

        const { picked } = play([[canary, [stable]]], seed)

        expect(picked).toBeLessThanOrEqual(picks * (20 / 110) + slack(20 / 110) + 1)
      }),
      { numRuns: 20 },
    )
  })
})
