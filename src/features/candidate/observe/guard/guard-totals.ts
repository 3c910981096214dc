import { allOperations, type Side } from '../../../../operations.ts'
import { type GuardEvent, latencyBucketCount } from './guard-key.ts'

export interface GuardTotals {
  /** Requests that came to an end at the side: with a head, or because it has failed them. */
  requests: number
  failed: number
  refused: number
  /** Requests whose time until the head is known, or is this long already. */
  timed: number
  /** The same by bucket of that time. */
  readonly buckets: number[]
}

export const emptyTotals = (): GuardTotals => ({
  requests: 0,
  failed: 0,
  refused: 0,
  timed: 0,
  buckets: new Array(latencyBucketCount).fill(0),
})

export const createSideTotals = (): readonly GuardTotals[] => allOperations.map(emptyTotals)

export const createGuardTotals = (): Readonly<Record<Side, readonly GuardTotals[]>> => ({
  primary: createSideTotals(),
  candidate: createSideTotals(),
})

export const addEvent = (totals: GuardTotals, { outcome, isAnswered }: GuardEvent, count: number): void => {
  if (typeof outcome === 'number') {
    totals.timed += count
    totals.buckets[outcome] = (totals.buckets[outcome] as number) + count
    if (isAnswered) totals.requests += count
  } else if (outcome === 'late') totals.failed += count
  else {
    totals.requests += count
    totals[outcome] += count
  }
}

export const subtractAll = (from: readonly GuardTotals[], others: readonly GuardTotals[]): void => {
  for (const [i, { requests, failed, refused, timed, buckets }] of others.entries()) {
    const totals = from[i] as GuardTotals
    totals.requests -= requests
    totals.failed -= failed
    totals.refused -= refused
    totals.timed -= timed
    for (const [bucket, count] of buckets.entries()) totals.buckets[bucket] = (totals.buckets[bucket] as number) - count
  }
}
