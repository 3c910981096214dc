import type { UpstreamConfig } from '../../config/config.ts'
import { GatewayError } from '../../failures/errors.ts'

/** What a balancer knows of a member that it may pick. */
export interface BalancerCandidate {
  /** Requests on their way. */
  readonly inFlight: number
  /** Share of the traffic relative to the others, slow start included; above 0. */
  weightAt(now: number): number
  /** Decaying estimate of how long its answers take, in ms; at least 1. */
  latencyAt(now: number): number
  /** How many attempts a success takes of late; 1: all go well. */
  attemptsPerSuccessAt(now: number): number
}

/** Picks one of those that are open to it; there is at least one, or it throws `no-healthy-endpoint`. */
export type SelectEndpoint<T extends BalancerCandidate> = (candidates: readonly T[], now: number) => T

/**
 * The ways to balance. Each call begins anew and remembers what it picked; `random` is from 0 to below 1. What two
 * choices compare is how long one more request would wait: p2c by what is in the queue times the time that each takes.
 * Least-requests knows no time, so it takes the queue twice: the square leaves alone sooner one that hangs.
 */
export const balancers: Readonly<
  Record<UpstreamConfig['balance'], <T extends BalancerCandidate>(random?: () => number) => SelectEndpoint<T>>
> = {
  p2c: (random) => powerOfTwoChoices((queue, candidate, now) => queue * candidate.latencyAt(now), random),
  'least-requests': (random) => powerOfTwoChoices((queue) => queue * queue, random),
  'round-robin': () => smoothWeightedRoundRobin(),
}

/** Is what a member is owed, in picks; negative: what it has had in advance. */
interface CreditAccount {
  credit: number
  weight: number
}

// What the rounding of shares may come to; less is a tie, which the first in the list wins.
const tieTolerance = 1e-9

/**
 * Takes turns by weight, blind to load: for endpoints that differ in nothing but size, and for tests that must be told
 * beforehand.
 *
 * The turns are evenly spread (smooth weighted round robin, as nginx does it): with every pick each member that is open
 * is owed its share of it, and the one that is owed most has it. Credits are kept in picks, so that weights may differ
 * from one pick to the next. Who is missing is owed nothing meanwhile, and comes back with the credit it left with: no
 * burst. The k largest of n credits never sum to more than k × (n − k), whatever the weights and whoever is missing (by
 * induction over picks, from the sums of the k − 1 and k + 1 largest); so none is ever outside ±(n − 1), and one that
 * is open with a share of at least s waits at most 2 × (n − 1) / s + 1 picks.
 */
export const smoothWeightedRoundRobin = <T extends BalancerCandidate>(): SelectEndpoint<T> => {
  const accounts = new WeakMap<T, CreditAccount>()
  const accountOf = (candidate: T): CreditAccount => {
    const known = accounts.get(candidate)
    if (known !== undefined) return known
    const opened = { credit: 0, weight: 0 }
    accounts.set(candidate, opened)
    return opened
  }

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

// How fast the odds of one that fails fall. Beside one that is well, an endpoint that always fails has three or four
// requests of the first hundred, which is what `retry.budget` makes good, and then one in two seconds, as long as
// failures are remembered for ten.
const failureExponent = 4

/**
 * Draws two members by weight and tosses a coin between them, biased by their loads (power of two choices). `loadOf`
 * tells how long one more request would wait; `queue` is what is on its way, relative to the member's size, and one
 * more.
 *
 * The law, for each pick and whatever the loads are (s: the member's share of the weight that is open):
 *
 * - No member is picked with more than 2 × s. Either draw is a member with s exactly, so it is among the two with 2 × s
 *   at most.
 * - A member that fails clearly more than its siblings is picked with s at most: beside each of them it has even odds
 *   at best.
 * - Members of equal loads are picked with s exactly, each being one of the two draws as likely as the other.
 *
 * The coin is biased, not decided: were the less loaded one always taken, a crowd would run after the one that just
 * became idle, and a member with an old bad latency would never be asked again.
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
    // An answer that fails may come at once and leave nothing on its way: that one is no less loaded.
    if (attempts > otherAttempts * failureRatioThreshold) load = Math.max(load, otherLoad)
    else if (otherAttempts > attempts * failureRatioThreshold) otherLoad = Math.max(load, otherLoad)
    const odds = otherLoad * otherAttempts ** failureExponent
    return random() * (odds + load * attempts ** failureExponent) < odds ? one : other
  }

/** Finds whose arc a point is on. */
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
  return candidates.at(-1) // rounding left something over
}

const relativeQueue = (candidate: BalancerCandidate, meanWeight: number, now: number): number =>
  1 + (candidate.inFlight * meanWeight) / candidate.weightAt(now)
