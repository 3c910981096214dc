import type { UpstreamConfig } from '../../config/config.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { weakMemo } from '../../lib/memo.ts'

export interface BalancerCandidate {
  readonly inFlight: number
  /** Relative to other endpoints, slow start included; above 0. */
  weightAt(now: number): number
  /** A decaying estimate of the time to the head of a response, in ms; at least 1. */
  latencyAt(now: number): number
  attemptsPerSuccessAt(now: number): number
}

export type SelectEndpoint<T extends BalancerCandidate> = (candidates: readonly T[], now: number) => T

/**
 * Each call creates a balancer with its own state; `random` is in [0, 1). p2c compares how long one more request would
 * wait: queue × latency. least-requests knows no latency, and compares queue², which moves away sooner from an endpoint
 * that hangs.
 */
export const balancers: Readonly<
  Record<UpstreamConfig['balance'], <T extends BalancerCandidate>(random?: () => number) => SelectEndpoint<T>>
> = {
  p2c: (random) => powerOfTwoChoices((queue, candidate, now) => queue * candidate.latencyAt(now), random),
  'least-requests': (random) => powerOfTwoChoices((queue) => queue * queue, random),
  'round-robin': () => smoothWeightedRoundRobin(),
}

const minSlowStartShare = 0.1

export const slowStartShare = (sinceMs: number, slowStartMs: number): number =>
  Math.min(1, Math.max(minSlowStartShare, sinceMs / slowStartMs))

const tieTolerance = 1e-9

/**
 * Takes turns by weight, blind to load. Smooth weighted round robin, as in nginx: each selection credits every
 * candidate its share and takes the highest credit. Credits are in selections, so weights may change. An endpoint that
 * is no candidate keeps its credit, which prevents a burst. The k largest of n credits never sum to more than k × (n −
 * k) (by induction, from the sums of the k − 1 and k + 1 largest). So every credit is within ±(n − 1), and a candidate
 * with a share of at least s waits at most 2 × (n − 1) / s + 1 selections.
 */
export const smoothWeightedRoundRobin = <T extends BalancerCandidate>(): SelectEndpoint<T> => {
  const accountOf = weakMemo((_: T) => ({ credit: 0, weight: 0 }))

  return (candidates, now) => {
    let total = 0
    for (const candidate of candidates) {
      const account = accountOf(candidate)
      account.weight = candidate.weightAt(now)
      total += account.weight
    }

    let picked: T | undefined
    let paying: ReturnType<typeof accountOf> | undefined
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

const failureRatioThreshold = 1.1

// With it, an endpoint that always fails gets less than `retry.budget` can repeat (decision 014).
const failureExponent = 4

/**
 * Draws two endpoints by weight, then chooses at random, biased by their loads: always choosing the lower load would
 * send a herd of requests to an endpoint that becomes idle. No endpoint gets more than twice its share of the weight;
 * one that fails clearly more than its siblings gets at most its share (decision 014).
 */
const powerOfTwoChoices =
  <T extends BalancerCandidate>(
    loadOf: (queue: number, candidate: T, now: number) => number, // queue: requests in flight by weight, plus 1
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
      // Two points of a circle on which each endpoint has an arc as long as its weight. Each point is uniform. They are
      // so far apart that both meet one arc only if it is longer than all others together.
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
    // With nothing in flight, an endpoint that fails at once would look less loaded.
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
  return candidates.at(-1)
}

const relativeQueue = (candidate: BalancerCandidate, meanWeight: number, now: number): number =>
  1 + (candidate.inFlight * meanWeight) / candidate.weightAt(now)
