import { expectedBad, logChanceOfExcess, type Stratum } from './excess.ts'
import {
  compareWith,
  countFault,
  type GuardComparison,
  type GuardFault,
  type GuardReference,
  minShare,
  slowShare,
} from './guard-comparison.ts'
import { countBearers, isBadForNearlyAll, listClientExcesses, withoutClients } from './guard-spread.ts'
import type { GuardEvidence } from './guard-window.ts'

/** What a candidate must not do. */
export interface GuardRules {
  /** How many times as many failures as the primary. */
  readonly errors: number
  /** How many times the primary's 95th percentile of the time until the head. */
  readonly latency: number
  /** With fewer requests of the candidate nothing is judged. */
  readonly minRequests: number
}

/** Why a candidate is to be taken back. */
export interface GuardVerdict extends Stratum {
  readonly fault: GuardFault
  readonly reference: GuardReference
  /** The places of the operations in the interface that were judged together. */
  readonly operations: readonly number[]
  /** The longest wait that was not too long, in milliseconds. Null: waits of one operation were not what was judged. */
  readonly boundMs: number | null
}

// It is judged each second, for hours, on windows that overlap.
const maxLogChance = Math.log(1e-9)
// What is left without the client that has most of it is looked at only then.
const maxLogChanceOfOthers = Math.log(1e-6)

// Clients are refused for what they ask, and wait for it, one more often than the other. So it takes many to tell.
const minBearers: Readonly<Record<GuardFault, number>> = { failed: 1, refused: 6, slow: 3 }
// With the fewest clients one more is needed: bearers are never quite as many as clients.
const minClients: Readonly<Record<GuardFault, number>> = { failed: 1, refused: 6, slow: 4 }
const faults = ['failed', 'refused', 'slow'] as const
const references = ['meanwhile', 'before', 'none'] as const

/**
 * Judges a candidate by what became of its requests: a verdict, when it is worse than the primary by more than the
 * rules allow and it is neither chance nor one client. Null: it may stay.
 */
export const judgeCandidate = ({ operations, clients }: GuardEvidence, rules: GuardRules): GuardVerdict | null => {
  for (const fault of faults) {
    const counted = operations
      .map((each) => countFault(each, fault, rules.latency))
      .filter(({ candidate }) => candidate[1] > 0)
    if (counted.length === 0) continue
    for (const reference of references) {
      const together = counted.flatMap((each) => compareWith(each, reference) ?? [])
      // One operation may be bad among others that are well.
      const groups = together.length === 1 ? [together] : [together, ...together.map((one) => [one])]
      const found = groups.find(
        (group) => isTooBad(group, fault, reference, rules) && isSpread(group, fault, reference, rules, clients),
      )
      if (found !== undefined) return toVerdict(found, fault, reference)
    }
  }
  return null
}

const isTooBad = (
  strata: readonly GuardComparison[],
  fault: GuardFault,
  reference: GuardReference,
  { minRequests, errors }: GuardRules,
): boolean =>
  sum(strata, 'requests') >= minRequests &&
  isBeyond(strata, fault, reference, errors, maxLogChance) &&
  strata.every((each) => each.isTenable())

/** Tells whether the bad ones are more than the rules allow, and more than chance makes. */
const isBeyond = (
  strata: readonly Stratum[],
  fault: GuardFault,
  reference: GuardReference,
  errors: number,
  maxLog: number,
): boolean => {
  const requests = sum(strata, 'requests')
  const bad = sum(strata, 'bad')
  if (bad <= minShare(reference, fault) * requests) return false
  if (reference === 'none') return fault === 'failed'
  if (fault === 'slow' ? bad <= slowShare * requests : bad <= errors * expectedBad(strata)) return false
  return logChanceOfExcess(strata, maxLog) < maxLog
}

/** Tells whether it is not one client, which would fare as badly wherever it is. */
const isSpread = (
  strata: readonly GuardComparison[],
  fault: GuardFault,
  reference: GuardReference,
  { errors }: GuardRules,
  clients: number,
): boolean => {
  const shares = listClientExcesses(strata)
  if (isBadForNearlyAll(shares, clients)) return true
  if (clients < minClients[fault] || countBearers(shares) < minBearers[fault]) return false
  const worst = shares.slice(0, Math.min(2, clients - 1)).map(({ cell }) => cell)
  return isBeyond(withoutClients(strata, worst), fault, reference, errors, maxLogChanceOfOthers)
}

const toVerdict = (strata: readonly GuardComparison[], fault: GuardFault, reference: GuardReference): GuardVerdict => ({
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
