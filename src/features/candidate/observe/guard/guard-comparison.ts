import { type GuardTotals, latencyBucketEnd } from './guard-key.ts'
import { type OperationEvidence, slicesOfWindow } from './guard-window.ts'

/** One kind of requests that both sides had: of an operation, say. */
export interface Stratum {
  /** How many requests the candidate had, and how many of them were bad. */
  readonly requests: number
  readonly bad: number
  /** The same of the primary, which it is compared with. */
  readonly otherRequests: number
  readonly otherBad: number
}

/**
 * Bounds the natural logarithm of the probability that so many bad requests, or more, are on the candidate by chance,
 * when both sides are alike. Given how many bad ones there are on both sides together, those on the candidate are then
 * binomial within each stratum, by its part of the requests. The sum has the bound of Chernoff: the least over t of
 * E[exp(t·X)] / exp(t·x). It is never below the true probability. Where it cannot be below `atMost`, it is not computed
 * and is 0.
 */
export const logChanceOfExcess = (strata: readonly Stratum[], atMost = 0): number => {
  const parts = strata.flatMap(({ requests, bad, otherRequests, otherBad }) => {
    const trials = bad + otherBad
    return trials === 0 ? [] : [{ trials, bad, chance: requests / (requests + otherRequests) }]
  })
  const observed = strata.reduce((sum, { bad }) => sum + bad, 0)
  const mean = parts.reduce((sum, { trials, chance }) => sum + trials * chance, 0)
  if (observed <= mean) return 0
  // The least that it can be is the chance that each of these is on the candidate.
  if (parts.reduce((sum, { bad, chance }) => sum + bad * Math.log(chance), 0) > atMost) return 0
  const exponent = (t: number): number =>
    parts.reduce((sum, { trials, chance }) => sum + trials * Math.log1p(chance * Math.expm1(t)), -t * observed)
  const slope = (t: number): number =>
    parts.reduce((sum, { trials, chance }) => {
      const tilted = chance * Math.exp(t)
      return sum + (trials * tilted) / (1 - chance + tilted)
    }, -observed)
  // The slope rises with t. Where all bad ones are on the candidate it never reaches 0, and the bound is at the end.
  let [low, high] = [0, maxTilt]
  for (let round = 0; round < 50; round++) {
    const middle = (low + high) / 2
    if (slope(middle) < 0) low = middle
    else high = middle
  }
  return Math.min(0, exponent(high))
}

// exp of it is far from the largest number, and beyond it a bound changes in no digit that matters.
const maxTilt = 60

/** Returns how many bad requests the candidate would have, were it as good as the primary. */
export const expectedBad = (strata: readonly Stratum[]): number =>
  strata.reduce(
    (sum, { requests, otherRequests, otherBad }) =>
      otherRequests === 0 ? sum : sum + (requests * otherBad) / otherRequests,
    0,
  )

/** What a candidate does too often: it fails requests, refuses them with a 4xx, or lets them wait. */
export type GuardFault = 'failed' | 'refused' | 'slow'

/** What the candidate is compared with: the primary meanwhile, the primary before, or nothing. */
export type GuardReference = 'meanwhile' | 'before' | 'none'

/** So many requests, and how many of them were bad. */
export type BadOf = readonly [requests: number, bad: number]

/** The requests to an operation, of which those with a fault are counted as bad. */
interface FaultCounts {
  readonly fault: GuardFault
  readonly evidence: OperationEvidence
  /** The last bucket of waits that are not too long. Null: waits are not looked at, or cannot be judged. */
  readonly bound: number | null
  readonly candidate: BadOf
  readonly meanwhile: BadOf
  count(totals: GuardTotals): BadOf
}

/** A comparison of one operation with one reference. */
export interface GuardComparison extends Stratum {
  readonly operation: number
  /** The longest wait that is not too long, in milliseconds. Null: waits were not looked at. */
  readonly boundMs: number | null
  /** Whether what the primary does now, as far as that is known, does not speak against the reference. */
  isTenable(): boolean
  /** The same of the candidate, by the cell of the client. */
  byCell(): ReadonlyMap<number, BadOf>
}

// Fewer requests of the primary are no measure.
const minReferenceRequests = 10
const minMeasured = 100
const minEarlierMeasured = 20
// No client minds less than that.
const minExcessMs = 10
// That the primary is as bad now, though it was not before.
const maxLogChanceOfOutage = Math.log(1e-3)

// What was long ago is compared with more caution, since a day is no night; and nothing at all with the most.
const minShareBefore: Readonly<Record<GuardFault, number>> = { failed: 0.1, refused: 0.5, slow: 0.5 }
const minShareAlone = 0.5

export const minShare = (reference: GuardReference, fault: GuardFault): number =>
  ({ meanwhile: 0, before: minShareBefore[fault], none: minShareAlone })[reference]

/** The part of the requests that is slower than the 95th percentile. */
export const slowShare = 0.05

/** `latency`: how many times the primary's percentile is too slow. */
export const countFault = (evidence: OperationEvidence, fault: GuardFault, latency: number): FaultCounts => {
  const { primary, earlier, candidate } = evidence
  const bound = fault === 'slow' ? findBound(primary, earlier, latency) : null
  const count = (totals: GuardTotals): BadOf => {
    // A response that was cut short may have begun in a window before.
    if (fault !== 'slow') return [totals.requests, Math.min(totals.requests, totals[fault])]
    return [totals.timed, bound === null ? 0 : countAbove(totals.buckets, bound)]
  }
  return { fault, evidence, bound, count, candidate: count(candidate), meanwhile: count(primary) }
}

/** Compares the candidate with one reference. Null: there is not enough of it. */
export const compareWith = (counts: FaultCounts, reference: GuardReference): GuardComparison | null => {
  const { fault, evidence, bound, candidate, meanwhile, count } = counts
  const [earlier, earlierBad] = count(evidence.earlier)
  const before: BadOf = [meanwhile[0] + earlier, meanwhile[1] + earlierBad]
  const other: BadOf = { meanwhile, before, none: [0, 0] as const }[reference]
  const isEnough = other[0] >= minReferenceRequests
  if (reference === 'none' ? before[0] >= minReferenceRequests : !isEnough) return null
  return {
    operation: evidence.operation,
    requests: candidate[0],
    bad: candidate[1],
    otherRequests: other[0],
    otherBad: other[1],
    boundMs: bound === null ? null : latencyBucketEnd(bound),
    isTenable: () => reference === 'meanwhile' || isLasting(counts, minShare(reference, fault)),
    byCell: () => new Map([...evidence.cells()].map(([cell, totals]) => [cell, count(totals)])),
  }
}

/**
 * Tells whether the candidate did badly during the whole window, and the primary cannot be as bad just now: it was not
 * asked, or the few requests that it had are too well for an outage behind both sides. An outage that has just begun
 * would say nothing of what the primary did before.
 */
const isLasting = ({ evidence, meanwhile, count }: FaultCounts, minShare: number): boolean => {
  const shares = evidence.slices().flatMap((slice) => {
    const [had, hadBad] = count(slice)
    return had === 0 ? [] : [hadBad / had]
  })
  const least = Math.min(...shares)
  const [requests, bad] = meanwhile
  if (shares.length < slicesOfWindow || least <= minShare || bad > 0) return false
  return requests === 0 || requests * Math.log1p(-Math.min(0.999, least)) < maxLogChanceOfOutage
}

const countAbove = (buckets: readonly number[], bound: number): number => {
  let sum = 0
  for (let i = bound + 1; i < buckets.length; i++) sum += buckets[i] as number
  return sum
}

/**
 * Finds the last bucket that is not too slow: it reaches `times` the primary's 95th percentile, and no less than 10 ms
 * beyond it. Null: the primary had too few requests to say.
 */
const findBound = (primary: GuardTotals, earlier: GuardTotals, times: number): number | null => {
  const isEnough = primary.timed >= minMeasured
  const timed = isEnough ? primary.timed : primary.timed + earlier.timed
  if (timed < minEarlierMeasured) return null
  const rank = Math.ceil((1 - slowShare) * (timed + 1))
  const last = primary.buckets.length - 1
  let [below, bucket] = [0, -1]
  while (below < rank && bucket < last) {
    bucket++
    below += (primary.buckets[bucket] as number) + (isEnough ? 0 : (earlier.buckets[bucket] as number))
  }
  const p95 = latencyBucketEnd(bucket)
  const boundMs = Math.max(p95 * times, p95 + minExcessMs)
  while (latencyBucketEnd(bucket) < boundMs && bucket < last) bucket++
  return bucket
}
