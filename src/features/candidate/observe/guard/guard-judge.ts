import { formatDuration, formatShare } from '../../../../core/lib/text/units.ts'
import { allOperations } from '../../../../operations.ts'
import type { CandidateGuardConfig } from '../../config/candidate.ts'
import {
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

interface Suspicion {
  readonly fault: GuardFault
  readonly reference: GuardReference
}

export interface GuardVerdict extends Stratum, Suspicion {
  readonly operations: readonly number[]
  readonly boundMs: number | null
}

// Strict: overlapping windows are judged every second, for hours.
const maxLogChance = Math.log(1e-9)
// Judged again without the clients that have most bad requests.
const maxLogChanceOfOthers = Math.log(1e-6)

// Clients' requests differ, so some are rejected or wait more often: several must bear the excess.
const minBearers: Readonly<Record<GuardFault, number>> = { failed: 1, rejected: 6, slow: 3 }
// One more for `slow`: the estimate of bearers stays below the number of clients.
const minClients: Readonly<Record<GuardFault, number>> = { failed: 1, rejected: 6, slow: 4 }
const faults = ['failed', 'rejected', 'slow'] as const
const references = ['meanwhile', 'before', 'none'] as const

/** Null: not worse by more than the rules allow, or by chance, or by one client alone. */
export const judgeCandidate = ({ operations, clients }: GuardEvidence, rules: GuardRules): GuardVerdict | null => {
  for (const fault of faults) {
    const counted = operations
      .map((each) => countFault(each, fault, rules.latency))
      .filter(({ candidate }) => candidate[1] > 0)
    for (const reference of counted.length === 0 ? [] : references) {
      const together = counted.flatMap((each) => compareWith(each, reference) ?? [])
      // One operation may be bad among healthy others.
      const groups = together.length === 1 ? [together] : [together, ...together.map((one) => [one])]
      const suspicion = { fault, reference }
      const found = groups.find(
        (strata) =>
          addUp(strata).requests >= rules.minRequests &&
          isBeyond(strata, suspicion, rules, maxLogChance) &&
          strata.every((each) => each.isTenable()) &&
          isSpread(strata, suspicion, rules, clients),
      )
      if (found !== undefined) {
        const boundMs = found.length === 1 ? (found[0]?.boundMs ?? null) : null
        return { ...suspicion, operations: found.map(({ operation }) => operation), ...addUp(found), boundMs }
      }
    }
  }
  return null
}

const addUp = (strata: readonly Stratum[]): Stratum => {
  const sum = (name: keyof Stratum): number => strata.reduce((total, stratum) => total + stratum[name], 0)
  return { requests: sum('requests'), bad: sum('bad'), otherRequests: sum('otherRequests'), otherBad: sum('otherBad') }
}

const isBeyond = (
  strata: readonly Stratum[],
  { fault, reference }: Suspicion,
  { errors }: GuardRules,
  maxLog: number,
): boolean => {
  const { requests, bad } = addUp(strata)
  if (bad <= minShare(reference, fault) * requests) return false
  if (reference === 'none') return fault === 'failed'
  if (fault === 'slow' ? bad <= slowShare * requests : bad <= errors * expectedBad(strata)) return false
  return logChanceOfExcess(strata, maxLog) < maxLog
}

/** A single client might do as badly at the primary. */
const isSpread = (strata: readonly GuardComparison[], suspicion: Suspicion, rules: GuardRules, clients: number) => {
  const { fault } = suspicion
  const shares = listClientExcesses(strata)
  if (isBadForNearlyAll(shares, clients)) return true
  if (clients < minClients[fault] || countBearers(shares) < minBearers[fault]) return false
  const worst = shares.slice(0, Math.min(2, clients - 1)).map(({ cell }) => cell)
  return isBeyond(withoutClients(strata, worst), suspicion, rules, maxLogChanceOfOthers)
}

interface ClientExcess {
  readonly cell: number
  requests: number
  bad: number
  expected: number
}

const listClientExcesses = (strata: readonly GuardComparison[]): readonly ClientExcess[] => {
  const shares = new Map<number, ClientExcess>()
  for (const stratum of strata)
    for (const [cell, [requests, bad]] of stratum.byCell()) {
      const share = shares.get(cell) ?? { cell, requests: 0, bad: 0, expected: 0 }
      shares.set(cell, share)
      share.requests += requests
      share.bad += bad
      share.expected += expectedBad([{ ...stratum, requests, bad }])
    }
  return [...shares.values()].sort((a, b) => b.bad - a.bad)
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
      const [had, hadBad] = byCell.get(cell) ?? [0, 0]
      requests -= had
      bad -= hadBad
    }
    return { ...stratum, requests, bad: Math.max(0, bad) }
  })

const minOfClient = 3

/** Two thirds of the clients with enough requests have mostly bad ones, and these are at least three, or all. */
const isBadForNearlyAll = (shares: readonly ClientExcess[], clients: number): boolean => {
  const asking = shares.filter(({ requests }) => requests >= minOfClient)
  const bad = asking.filter((each) => each.bad > each.requests / 2).length
  return bad >= Math.min(3, clients) && bad >= (2 / 3) * asking.length
}

const faultWords: Readonly<Record<GuardFault, string>> = {
  failed: 'failed',
  rejected: 'were rejected with a 4xx',
  slow: 'waited too long for the head',
}

/** `44 % of 480 requests failed within 1m, and 0.1 % at the primary`. */
export const describeVerdict = (verdict: GuardVerdict, windowMs: number): string => {
  const { fault, reference, operations, requests, bad, otherRequests, otherBad, boundMs } = verdict
  const [operation, ...others] = operations.map((index) => allOperations[index]?.id)
  const where = others.length === 0 && operation !== undefined ? ` to ${operation}` : ''
  const did = boundMs === null ? faultWords[fault] : `waited longer than ${formatRounded(boundMs)} for the head`
  const own = `${formatShare(bad, requests)} of ${requests} requests${where} ${did} within ${formatDuration(windowMs)}`
  if (reference === 'none') return `${own}, and the primary had too few requests to compare`
  const other = `${own}, and ${formatShare(otherBad, otherRequests)} of ${otherRequests} at the primary`
  return reference === 'meanwhile' ? other : `${other} earlier, which has too few requests now`
}

const formatRounded = (ms: number): string => formatDuration(ms < 10_000 ? Math.round(ms) : Math.round(ms / 100) * 100)
