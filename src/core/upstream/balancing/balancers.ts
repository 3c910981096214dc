import type { UpstreamConfig } from '../../config/config.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { weakMemo } from '../../lib/memo.ts'

export interface BalancerCandidate {
  readonly inFlight: number
  /** The share of the traffic relative to the others, slow start included; above 0. */
  weightAt(now: number): number
  /** A decaying estimate of the time to the head of its responses, in ms; at least 1. */
  latencyAt(now: number): number
  /** The recent number of attempts for a success; 1: all succeed. */
  attemptsPerSuccessAt(now: number): number
}

/** Selects one of the candidates. There is at least one, or it throws `no-healthy-endpoint`. */
export type SelectEndpoint<T extends BalancerCandidate> = (candidates: readonly T[], now: number) => T

/**
 * The ways to balance. Each call creates a balancer with a memory of its own; `random` is from 0 to below 1. Two
 * choices are compared by how long one more request would wait. p2c takes the queue times the latency. Least-requests
 * knows no time, so it takes the square of the queue, which sooner leaves alone an endpoint that hangs.
 */
export const balancers: Readonly<
  Record<UpstreamConfig['balance'], <T extends BalancerCandidate>(random?: () => number) => SelectEndpoint<T>>
> = {
  p2c: (random) => powerOfTwoChoices((queue, candidate, now) => queue * candidate.latencyAt(now), random),
  'least-requests': (random) => powerOfTwoChoices((queue) => queue * queue, random),
  'round-robin': () => smoothWeightedRoundRobin(),
}

/** The credit of a member, in selections; negative: it has had some in advance. */
interface CreditAccount {
  credit: number
  weight: number
}

// The rounding error of shares; a smaller difference is a tie, which the first in the list wins.
const tieTolerance = 1e-9

/**
 * Takes turns by weight, blind to load: for endpoints that differ in nothing but size, and for tests that must know the
 * order beforehand.
 *
 * The turns are evenly spread (smooth weighted round robin, as in nginx): with every selection each candidate is
 * credited its share of it, and the one with the highest credit is selected. Credits are in selections, so that weights
 * may differ from one selection to the next. A member that is not a candidate gains no credit meanwhile, and returns
 * with the credit it left with: no burst. The k largest of n credits never sum to more than k × (n − k), whatever the
 * weights and whichever members are missing (by induction over selections, from the sums of the k − 1 and k + 1
 * largest). So none is ever outside ±(n − 1), and a candidate with a share of at least s waits at most 2 × (n − 1) / s
 * + 1 selections.
 */
export const smoothWeightedRoundRobin = <T extends BalancerCandidate>(): SelectEndpoint<T> => {
  const accountOf = weakMemo((_: T): CreditAccount => ({ credit: 0, weight: 0 }))

  return (candidates, now) => {
    let total = 0
    for (const candidate of candidates) {
      const account = accountOf(candidate)
      account.weight = candidate.weightAt(now)
      total += account.weight
    }

    let picked: T | undefined
    let paying: CreditAccount | undefined
    for (const candidate of candidates) {
      const account = accountOf(candidate)
      account.credit += account.weight / total
      if (paying !== undefined && account.credit <= paying.credit + tieTolerance) continue
      picked = candidate
      paying = account
    }
    if (picked === undefined || paying === undefined) throw new GatewayError('no-healthy-endpoint')
    paying.credit -= 1
    return picked
  }
}

// An endpoint fails more than another one when its successes take so many times the attempts.
const failureRatioThreshold = 1.1

// How fast the odds of a failing endpoint fall. Beside a healthy one, an endpoint that always fails gets three or four
// requests of the first hundred, which `retry.budget` makes good, and then one in two seconds, as long as failures are
// remembered for ten.
const failureExponent = 4

/**
 * Draws two members by weight and tosses a coin between them, biased by their loads (power of two choices). `loadOf`
 * returns how long one more request would wait; `queue` is the number of requests in flight relative to the member's
 * size, plus one.
 *
 * The law, for each selection and whatever the loads are (s: the member's share of the candidates' weight):
 *
 * - No member is selected with more than 2 × s. Either draw is a member with s exactly, so it is among the two with 2 ×
 *   s at most.
 * - A member that fails clearly more than its siblings is selected with s at most: beside each of them it has even odds
 *   at best.
 * - Members of equal loads are selected with s exactly, each being one of the two draws as likely as the other.
 *
 * The coin is biased, not decided: were the less loaded one always taken, a herd of requests would go to the member
 * that just became idle, and a member with an old bad latency would never be asked again.
 */
const powerOfTwoChoices =
  <T extends BalancerCandidate>(
    loadOf: (queue: number, candidate: T, now: number) => number,
    random: () => number = Math.random,
  ): SelectEndpoint<T> =>
  (candidates, now) => {
    const count = candidates.length
    const common = candidates[0]?.weightAt(now)
    let total = 0
    let heaviest = 0
    let equal = true
    for (const candidate of candidates) {
      const weight = candidate.weightAt(now)
      total += weight
      if (weight > heaviest) heaviest = weight
      if (weight !== common) equal = false
    }

    let one: T | undefined
    let other: T | undefined
    if (equal) {
      const first = Math.floor(random() * count)
      one = candidates[first]
      other = candidates[(first + 1 + Math.floor(random() * (count - 1))) % count]
    } else {
      // Two points of a circle on which each member has an arc as long as its weight. The second is as random as the
      // first, and so far from it that both are on one arc only if that is longer than all the others together.
      const apart = Math.min(heaviest, total / 2)
      const point = random() * total
      one = candidateAt(candidates, point, now)
      other = candidateAt(candidates, (point + apart + random() * (total - 2 * apart)) % total, now)
    }
    if (one === undefined || other === undefined) throw new GatewayError('no-healthy-endpoint')
    if (one === other) return one

    const attempts = one.attemptsPerSuccessAt(now)
    const otherAttempts = other.attemptsPerSuccessAt(now)
    let load = loadOf(relativeQueue(one, total / count, now), one, now)
    let otherLoad = loadOf(relativeQueue(other, total / count, now), other, now)
    // A failed response may come at once and leave nothing in flight: the endpoint is no less loaded.
    if (attempts > otherAttempts * failureRatioThreshold) load = Math.max(load, otherLoad)
    else if (otherAttempts > attempts * failureRatioThreshold) otherLoad = Math.max(load, otherLoad)
    const odds = otherLoad * otherAttempts ** failureExponent
    return random() * (odds + load * attempts ** failureExponent) < odds ? one : other
  }

const candidateAt = <T extends BalancerCandidate>(
  candidates: readonly T[],
  point: number,
  now: number,
): T | undefined => {
  let left = point
  for (const candidate of candidates) {
    left -= candidate.weightAt(now)
    if (left < 0) return candidate
  }
  return candidates.at(-1) // rounding left a remainder
}

const relativeQueue = (candidate: BalancerCandidate, meanWeight: number, now: number): number =>
  1 + (candidate.inFlight * meanWeight) / candidate.weightAt(now)
