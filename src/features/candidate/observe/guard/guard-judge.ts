import { formatDuration, formatShare } from '../../../../core/lib/text/units.ts'
import { allOperations } from '../../../../operations.ts'
import type { CandidateGuardConfig } from '../../config/candidate.ts'
import {
  type BadOf,
  compareWith,
  countFault,
  expectedBad,
  type GuardComparison,
  type GuardFault,
  type GuardReference,
  logChanceOfExcess,
  minShare,
  type Stratum,
  slowShare,
} from './guard-comparison.ts'
import type { GuardEvidence } from './guard-window.ts'

export type GuardRules = Pick<CandidateGuardConfig, 'errors' | 'latency' | 'minRequests'>

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

interface ClientExcess {
  readonly cell: number
  readonly requests: number
  readonly bad: number
  /** How many bad requests it would have had, were the candidate as good as the primary. */
  readonly expected: number
}

/** Lists what each client of the candidate had, those that have most bad requests first. */
const listClientExcesses = (strata: readonly GuardComparison[]): readonly ClientExcess[] => {
  const shares = new Map<number, { requests: number; bad: number; expected: number }>()
  for (const stratum of strata)
    for (const [cell, [requests, bad]] of stratum.byCell()) {
      const share = shares.get(cell) ?? { requests: 0, bad: 0, expected: 0 }
      shares.set(cell, share)
      share.requests += requests
      share.bad += bad
      share.expected += expectedBad([{ ...stratum, requests, bad }])
    }
  return [...shares].map(([cell, share]) => ({ cell, ...share })).sort((a, b) => b.bad - a.bad)
}

/**
 * Estimates how many clients bear the excess alike: (Σr)² / Σr², where r is the excess of each. One client that has all
 * of it counts as one, whatever the others have.
 */
const countBearers = (shares: readonly ClientExcess[]): number => {
  let [sum, squares] = [0, 0]
  for (const { bad, expected } of shares) {
    sum += bad - expected
    squares += (bad - expected) ** 2
  }
  return sum <= 0 ? 0 : sum ** 2 / squares
}

const withoutClients = (strata: readonly GuardComparison[], cells: readonly number[]): readonly Stratum[] =>
  strata.map((stratum) => {
    const byCell = stratum.byCell()
    let { requests, bad } = stratum
    for (const cell of cells) {
      const [had, hadBad]: BadOf = byCell.get(cell) ?? [0, 0]
      requests -= had
      bad -= hadBad
    }
    return { ...stratum, requests, bad: Math.max(0, bad) }
  })

// A client with fewer requests says nothing of itself.
const minOfClient = 3

/**
 * Tells whether nearly every client fares badly: two thirds of those that ask have more bad requests than good ones,
 * and they are at least three, or all that the candidate has.
 */
const isBadForNearlyAll = (shares: readonly ClientExcess[], clients: number): boolean => {
  const asking = shares.filter(({ requests }) => requests >= minOfClient)
  const bad = asking.filter((each) => each.bad > each.requests / 2).length
  return bad >= Math.min(3, clients) && bad >= (2 / 3) * asking.length
}

const faultWords: Readonly<Record<GuardFault, string>> = {
  failed: 'failed',
  refused: 'were refused with a 4xx',
  slow: 'waited too long for the head',
}

/** Describes why a candidate is taken back: `44 % of 480 requests failed within 1m, and 0.1 % at the primary`. */
export const describeVerdict = (verdict: GuardVerdict, windowMs: number): string => {
  const { fault, reference, operations, requests, bad, otherRequests, otherBad, boundMs } = verdict
  const [operation, ...others] = operations.map((index) => allOperations[index]?.id)
  const where = others.length === 0 && operation !== undefined ? ` to ${operation}` : ''
  const did = boundMs === null ? faultWords[fault] : `waited longer than ${formatRounded(boundMs)} for the head`
  const own = `${formatShare(bad, requests)} of ${requests} requests${where} ${did} within ${formatDuration(windowMs)}`
  const other = `${formatShare(otherBad, otherRequests)} of ${otherRequests} at the primary`
  switch (reference) {
    case 'meanwhile':
      return `${own}, and ${other}`
    case 'before':
      return `${own}, and ${other} before, which has too few now`
    case 'none':
      return `${own}, and the primary had too few to compare them with`
  }
}

const formatRounded = (ms: number): string => formatDuration(ms < 10_000 ? Math.round(ms) : Math.round(ms / 100) * 100)
