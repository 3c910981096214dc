import { sum } from '../../../../core/log/sum-reports.ts'
import { type GuardTotals, latencyBucketEnd } from './guard-key.ts'
import { type OperationEvidence, slicesOfWindow } from './guard-window.ts'

/** Requests of both sides that can be compared, such as those to one operation. */
export interface Stratum {
  readonly requests: number
  readonly bad: number
  readonly otherRequests: number
  readonly otherBad: number
}

/**
 * An upper bound of ln P(the candidate has this many bad requests or more, both sides being alike). Given the total of
 * bad requests, the candidate's are binomial in each stratum, with its share of the requests as probability. For their
 * sum it is Chernoff's bound: the minimum over t of E[exp(t·X)] / exp(t·x). Returns 0 early where the bound cannot be
 * below `atMost`.
 */
export const logChanceOfExcess = (strata: readonly Stratum[], atMost = 0): number => {
  const parts = strata.flatMap(({ requests, bad, otherRequests, otherBad }) => {
    const trials = bad + otherBad
    return trials === 0 ? [] : [{ trials, bad, chance: requests / (requests + otherRequests) }]
  })
  const observed = sum(strata.map(({ bad }) => bad))
  const mean = sum(parts.map(({ trials, chance }) => trials * chance))
  if (observed <= mean) return 0
  // A lower bound: each of these is on the candidate.
  if (sum(parts.map(({ bad, chance }) => bad * Math.log(chance))) > atMost) return 0
  const exponent = (t: number): number =>
    parts.reduce((sum, { trials, chance }) => sum + trials * Math.log1p(chance * Math.expm1(t)), -t * observed)
  const slope = (t: number): number =>
    parts.reduce((sum, { trials, chance }) => {
      const tilted = chance * Math.exp(t)
      return sum + (trials * tilted) / (1 - chance + tilted)
    }, -observed)
  // The slope rises with t. If all bad requests are on the candidate, it never reaches 0, and the bound is at
  // `maxTilt`.
  let [low, high] = [0, maxTilt]
  for (let round = 0; round < 50; round++) {
    const middle = (low + high) / 2
    if (slope(middle) < 0) low = middle
    else high = middle
  }
  return Math.min(0, exponent(high))
}

// exp(60) is far from the largest double; a larger t changes no significant digit.
const maxTilt = 60

/** As if the candidate were as good as the primary. */
export const expectedBad = (strata: readonly Stratum[]): number =>
  sum(strata.map(({ requests, otherRequests, otherBad }) => (requests * otherBad) / Math.max(1, otherRequests)))

/** `rejected`: with a 4xx. `slow`: until the head. */
export type GuardFault = 'failed' | 'rejected' | 'slow'

export type GuardReference = 'meanwhile' | 'before' | 'none'

type BadOf = readonly [requests: number, bad: number]

type FaultCounts = ReturnType<typeof countFault>

export type GuardComparison = NonNullable<ReturnType<typeof compareWith>>

const minReferenceRequests = 10
const minMeasured = 100
const minEarlierMeasured = 20
// Clients do not notice less.
const minExcessMs = 10
// The chance that the primary is as bad as the candidate by now.
const maxLogChanceOfOutage = Math.log(1e-3)

/** Earlier windows need a clearer difference, since a day is not like a night; no reference needs the clearest. */
export const minShare = (reference: GuardReference, fault: GuardFault): number =>
  ({ meanwhile: 0, before: fault === 'failed' ? 0.1 : 0.5, none: 0.5 })[reference]

export const slowShare = 0.05

/** `latency`: how many times the primary's 95th percentile is too slow. */
export const countFault = (evidence: OperationEvidence, fault: GuardFault, latency: number) => {
  const { primary, earlier, candidate } = evidence
  /** The last acceptable latency bucket. Null: latency is not judged, or cannot be. */
  const bound = fault === 'slow' ? findBound(primary, earlier, latency) : null
  const count = (totals: GuardTotals): BadOf => {
    // The cut response may have begun in an earlier window.
    if (fault !== 'slow') return [totals.requests, Math.min(totals.requests, totals[fault])]
    return [totals.timed, bound === null ? 0 : sum(totals.buckets.slice(bound + 1))]
  }
  return { fault, evidence, bound, count, candidate: count(candidate), meanwhile: count(primary) }
}

/** Null: the reference has too few requests; for `none`: another reference has enough. */
export const compareWith = (counts: FaultCounts, reference: GuardReference) => {
  const { fault, evidence, bound, candidate, meanwhile, count } = counts
  const [earlier, earlierBad] = count(evidence.earlier)
  const before: BadOf = [meanwhile[0] + earlier, meanwhile[1] + earlierBad]
  const other: BadOf = { meanwhile, before, none: [0, 0] as const }[reference]
  const isEnough = other[0] >= minReferenceRequests
  if (reference === 'none' ? before[0] >= minReferenceRequests : !isEnough) return null
  return {
    operation: evidence.operation,
    ...{ requests: candidate[0], bad: candidate[1], otherRequests: other[0], otherBad: other[1] },
    boundMs: bound === null ? null : latencyBucketEnd(bound),
    isTenable: () => reference === 'meanwhile' || isLasting(counts, minShare(reference, fault)),
    byCell: () => new Map([...evidence.cells()].map(([cell, totals]) => [cell, count(totals)])),
  }
}

/**
 * Whether the candidate was bad in every slice of the window and the primary is not as bad now. Otherwise an outage
 * behind both sides, which has just begun, would be blamed on the candidate.
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

/** At least 10 ms above the primary's 95th percentile. Null: too few requests of the primary. */
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
