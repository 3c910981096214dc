import { expectedBad, logChanceOfExcess, type Stratum } from './excess.ts'
import { latencyBucketEnd } from './guard-key.ts'
import type { GuardEvidence, GuardTotals, OperationEvidence } from './guard-window.ts'

/** What a candidate must not do. */
export interface GuardRules {
  /** How many times as many failures as the primary. */
  readonly errors: number
  /** How many times the primary's 95th percentile of the time until the head. */
  readonly latency: number
  /** With fewer requests of the candidate nothing is judged. */
  readonly minRequests: number
}

/** What a candidate does too often: it fails requests, refuses them with a 4xx, or lets them wait. */
export type GuardFault = 'failed' | 'refused' | 'slow'

/** What the candidate was compared with: the primary meanwhile, the primary before, or nothing. */
export type GuardReference = 'meanwhile' | 'before' | 'none'

/** Why a candidate is to be taken back. */
export interface GuardVerdict {
  readonly fault: GuardFault
  readonly reference: GuardReference
  /** The places of the operations in the interface that were judged together. */
  readonly operations: readonly number[]
  readonly requests: number
  readonly bad: number
  /** The same of the primary; 0 without a reference. */
  readonly otherRequests: number
  readonly otherBad: number
  /** The longest of the waits that were not too long, in milliseconds. Null: waits were not judged. */
  readonly boundMs: number | null
}

/** A comparison of one operation. */
interface Comparison extends Stratum {
  readonly operation: number
  readonly reference: GuardReference
  readonly boundMs: number | null
  /** The same of the candidate, by the cell of the client. */
  byCell(): ReadonlyMap<number, readonly [requests: number, bad: number]>
}

// It is judged each second, for hours, on windows that overlap.
const maxLogChance = Math.log(1e-9)
// What is left without the client that is worst off is looked at only then.
const maxLogChanceOfOthers = Math.log(1e-6)

// Fewer requests of the primary are no measure.
const minMeanwhile = 10
const minMeasured = 100
const minEarlierMeasured = 20

// What was long ago is compared with more caution, and so is nothing at all.
const minShareBefore = 0.1
const minShareAlone = 0.5

// The part of the requests that is slower than the 95th percentile.
const slowShare = 0.05
// No client minds less than that.
const minExcessMs = 10

/**
 * Judges a candidate by what became of its requests: a verdict, when it is worse than the primary by more than the
 * rules allow and it cannot be chance. Null: it may stay.
 */
export const judgeCandidate = (evidence: GuardEvidence, rules: GuardRules): GuardVerdict | null => {
  for (const fault of ['failed', 'refused', 'slow'] as const) {
    const comparisons = evidence.operations.map((each) => compare(each, fault, rules))
    for (const reference of ['meanwhile', 'before', 'none'] as const) {
      const together = comparisons.filter((each) => each.reference === reference && each.requests > 0)
      // One operation may be bad among others that are well.
      for (const group of together.length > 1 ? [together, ...together.map((one) => [one])] : [together])
        if (isTooBad(group, fault, reference, rules, evidence.clients)) return toVerdict(group, fault, reference)
    }
  }
  return null
}

const compare = (operation: OperationEvidence, fault: GuardFault, rules: GuardRules): Comparison => {
  const { primary, earlier, candidate, cells } = operation
  const bound = fault === 'slow' ? findBound(primary, earlier, rules.latency) : null
  const count = counterOf(fault, bound)
  const [requests, bad] = count(candidate)
  const meanwhile = count(primary)
  const before = addPairs(meanwhile, count(earlier))
  const isMeasured = fault !== 'slow' || bound !== null
  const reference = !isMeasured
    ? 'none'
    : meanwhile[0] >= minMeanwhile
      ? 'meanwhile'
      : before[0] >= minMeanwhile && !contradicts([requests, bad], meanwhile)
        ? 'before'
        : 'none'
  const [otherRequests, otherBad] =
    reference === 'meanwhile' ? meanwhile : reference === 'before' ? before : ([0, 0] as const)
  return {
    operation: operation.operation,
    reference,
    requests,
    bad,
    otherRequests,
    otherBad,
    boundMs: bound === null ? null : latencyBucketEnd(bound),
    byCell: () => new Map([...cells()].map(([cell, totals]) => [cell, count(totals)])),
  }
}

/** Tells whether the few requests that the primary had meanwhile were as bad as those of the candidate. */
const contradicts = ([requests, bad]: Pair, [otherRequests, otherBad]: Pair): boolean =>
  otherBad > 0 && otherBad * requests >= bad * otherRequests

type Pair = readonly [requests: number, bad: number]

const addPairs = (a: Pair, b: Pair): Pair => [a[0] + b[0], a[1] + b[1]]

const counterOf =
  (fault: GuardFault, bound: number | null) =>
  (totals: GuardTotals): Pair => {
    if (fault !== 'slow') return [totals.requests, Math.min(totals.requests, totals[fault])]
    return bound === null ? [totals.timed, 0] : [totals.timed, countAbove(totals.buckets, bound)]
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
  let [below, bucket] = [0, -1]
  while (below < rank && bucket < primary.buckets.length - 1) {
    bucket++
    below += (primary.buckets[bucket] as number) + (isEnough ? 0 : (earlier.buckets[bucket] as number))
  }
  const p95 = latencyBucketEnd(bucket)
  const bound = Math.max(p95 * times, p95 + minExcessMs)
  while (latencyBucketEnd(bucket) < bound && bucket < primary.buckets.length - 1) bucket++
  return bucket
}

const isTooBad = (
  strata: readonly Comparison[],
  fault: GuardFault,
  reference: GuardReference,
  rules: GuardRules,
  clients: number,
): boolean => {
  const requests = sum(strata, 'requests')
  const bad = sum(strata, 'bad')
  if (bad === 0 || requests < rules.minRequests) return false
  if (!isBeyond(strata, fault, reference, rules, maxLogChance)) return false
  // One client alone may be the reason, wherever it is: what the others have must say the same.
  const others = Math.min(fault === 'refused' ? 2 : 1, clients - 1)
  return others === 0 || isBeyond(withoutWorst(strata, others), fault, reference, rules, maxLogChanceOfOthers)
}

/** Tells whether the bad ones are more than the rules allow, and more than chance makes. */
const isBeyond = (
  strata: readonly Stratum[],
  fault: GuardFault,
  reference: GuardReference,
  { errors }: GuardRules,
  maxLog: number,
): boolean => {
  const requests = sum(strata, 'requests')
  const bad = sum(strata, 'bad')
  if (reference === 'none') return fault === 'failed' && bad > minShareAlone * requests
  if (fault === 'slow' ? bad <= slowShare * requests : bad <= errors * expectedBad(strata)) return false
  if (reference === 'before' && bad <= minShareBefore * requests) return false
  return logChanceOfExcess(strata) < maxLog
}

/** Leaves out the clients that have most of the bad ones. */
const withoutWorst = (strata: readonly Comparison[], count: number): readonly Stratum[] => {
  const byCell = strata.map((stratum) => stratum.byCell())
  const badOf = (cell: number): number => byCell.reduce((bad, cells) => bad + (cells.get(cell)?.[1] ?? 0), 0)
  const worst = [...new Set(byCell.flatMap((cells) => [...cells.keys()]))]
    .sort((a, b) => badOf(b) - badOf(a))
    .slice(0, count)
  return strata.map((stratum, i) => {
    const left = worst.map((cell) => byCell[i]?.get(cell) ?? ([0, 0] as const))
    const requests = left.reduce((rest, [each]) => rest - each, stratum.requests)
    // A response that was cut short may have been counted in a window before.
    const bad = left.reduce((rest, [, each]) => rest - each, stratum.bad)
    return { ...stratum, requests, bad: Math.min(requests, Math.max(0, bad)) }
  })
}

const toVerdict = (strata: readonly Comparison[], fault: GuardFault, reference: GuardReference): GuardVerdict => ({
  fault,
  reference,
  operations: strata.map(({ operation }) => operation),
  requests: sum(strata, 'requests'),
  bad: sum(strata, 'bad'),
  otherRequests: sum(strata, 'otherRequests'),
  otherBad: sum(strata, 'otherBad'),
  boundMs: strata.length === 1 ? (strata[0]?.boundMs ?? null) : null,
})

const sum = (strata: readonly Stratum[], name: keyof Stratum): number =>
  strata.reduce((total, stratum) => total + stratum[name], 0)
