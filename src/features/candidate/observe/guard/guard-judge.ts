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
  /** Indexes in `allOperations`, judged together. */
  readonly operations: readonly number[]
  /** In milliseconds. Null: not about one operation's latency. */
  readonly boundMs: number | null
}

// Strict: overlapping windows are judged every second, for hours.
const maxLogChance = Math.log(1e-9)
// Checked next, without the clients with most bad requests.
const maxLogChanceOfOthers = Math.log(1e-6)

// Clients' requests differ, so some are rejected or wait more often: several must bear the excess.
const minBearers: Readonly<Record<GuardFault, number>> = { failed: 1, refused: 6, slow: 3 }
// One more for `slow`: the estimate of bearers stays below the number of clients.
const minClients: Readonly<Record<GuardFault, number>> = { failed: 1, refused: 6, slow: 4 }
const faults = ['failed', 'refused', 'slow'] as const
const references = ['meanwhile', 'before', 'none'] as const

/** Null: not worse by more than the rules allow, or by chance, or by one client alone. */
export const judgeCandidate = ({ operations, clients }: GuardEvidence, rules: GuardRules): GuardVerdict | null => {
  for (const fault of faults) {
    const counted = operations
      .map((each) => countFault(each, fault, rules.latency))
      .filter(({ candidate }) => candidate[1] > 0)
    if (counted.length === 0) continue
    for (const reference of references) {
      const together = counted.flatMap((each) => compareWith(each, reference) ?? [])
      // One operation may be bad among healthy others.
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

/** Whether the bad requests exceed the rules and chance. */
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

/** A single client might do as badly at the primary. */
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
  /** As if the candidate were as good as the primary. */
  readonly expected: number
}

/** The clients with the most bad requests first. */
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
 * Clients that bear the excess alike: (Σr)² / Σr², with each client's excess r. One client with all of the excess
 * counts as 1.
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

// Fewer requests say nothing about a client.
const minOfClient = 3

/**
 * Two thirds of the clients with enough requests have mostly bad ones, and these are at least three, or all clients of
 * the candidate.
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

/** `44 % of 480 requests failed within 1m, and 0.1 % at the primary`. */
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
