/** One number, short to send and quick to add up: operation index, side, client cell and code. */

import { allOperations, type OperationId, type Side } from '../../../../operations.ts'

/** `late`: a response that had begun was cut short or broke the contract. */
export type GuardFailure = 'failed' | 'refused' | 'late'

export interface GuardEvent {
  readonly operation: number
  readonly side: Side
  readonly cell: number
  /** A number: the latency bucket of the head, or of the client's leaving. */
  readonly outcome: GuardFailure | number
  /** False: the client has left, or still waits. */
  readonly isAnswered: boolean
}

/** Clients that share a cell count as one. */
export const cellCount = 256

export const latencyBucketCount = 160

const failures: readonly GuardFailure[] = ['failed', 'refused', 'late']
const codeCount = 512
const bucketRatio = Math.log(1.08)
const operationIndex = new Map<OperationId, number>(allOperations.map(({ id }, index) => [id, index]))

/** The code is added to this. */
export const guardKeyBase = (operation: OperationId, side: Side, cell: number): number =>
  (((operationIndex.get(operation) as number) * 2 + (side === 'candidate' ? 1 : 0)) * cellCount + cell) * codeCount

export const failureCode = (failure: GuardFailure): number => failures.indexOf(failure)

/** For a response whose head took `ms`. */
export const answeredCode = (ms: number): number => failures.length + latencyBucket(ms)

/** For a request that waited `ms` without a head. */
export const waitedCode = (ms: number): number => failures.length + latencyBucketCount + latencyBucket(ms)

/** Each bucket is 8 % wider than the one before; the first ends at 1 ms. */
export const latencyBucket = (ms: number): number =>
  ms <= 1 ? 0 : Math.min(latencyBucketCount - 1, Math.ceil(Math.log(ms) / bucketRatio))

/** In milliseconds. */
export const latencyBucketEnd = (bucket: number): number => Math.exp(bucket * bucketRatio)

export const readGuardKey = (key: number): GuardEvent => {
  const code = key % codeCount
  const cell = Math.trunc(key / codeCount) % cellCount
  const rest = Math.trunc(key / (codeCount * cellCount))
  const bucket = code - failures.length
  return {
    operation: Math.trunc(rest / 2),
    side: rest % 2 === 1 ? 'candidate' : 'primary',
    cell,
    outcome: failures[code] ?? bucket % latencyBucketCount,
    isAnswered: bucket < latencyBucketCount,
  }
}

export const cellOf = (bucket: number): number => bucket % cellCount

export interface GuardTotals {
  /** Ended with a head, or with a failure of the side. */
  requests: number
  failed: number
  refused: number
  /** With a known time to the head, or a known minimum. */
  timed: number
  /** `timed` by latency bucket. */
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
