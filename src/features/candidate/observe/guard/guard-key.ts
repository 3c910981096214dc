/** One number, short to send and quick to add up: operation index, side, client cell and code. */

import { allOperations, type OperationId, type Side } from '../../../../operations.ts'

/** `late`: a response that had begun was cut short or broke the contract. */
export type GuardFailure = 'failed' | 'rejected' | 'late'

export type GuardEvent = ReturnType<typeof readGuardKey>

/** Clients that share a cell count as one. */
export const cellCount = 256

export const latencyBucketCount = 160

const failures: readonly GuardFailure[] = ['failed', 'rejected', 'late']
const codeCount = 512
const bucketRatio = Math.log(1.08)
const operationIndex = new Map<OperationId, number>(allOperations.map(({ id }, index) => [id, index]))

export const guardKeyBase = (operation: OperationId, side: Side, cell: number): number =>
  (((operationIndex.get(operation) as number) * 2 + (side === 'candidate' ? 1 : 0)) * cellCount + cell) * codeCount

export const failureCode = (failure: GuardFailure): number => failures.indexOf(failure)

export const respondedCode = (ms: number): number => failures.length + latencyBucket(ms)

export const waitedCode = (ms: number): number => failures.length + latencyBucketCount + latencyBucket(ms)

/** Each bucket is 8 % wider than the one before; the first ends at 1 ms. */
export const latencyBucket = (ms: number): number =>
  ms <= 1 ? 0 : Math.min(latencyBucketCount - 1, Math.ceil(Math.log(ms) / bucketRatio))

export const latencyBucketEnd = (bucket: number): number => Math.exp(bucket * bucketRatio)

export const readGuardKey = (key: number) => {
  const code = key % codeCount
  const cell = Math.trunc(key / codeCount) % cellCount
  const rest = Math.trunc(key / (codeCount * cellCount))
  const bucket = code - failures.length
  const side: Side = rest % 2 === 1 ? 'candidate' : 'primary'
  return {
    operation: Math.trunc(rest / 2),
    side,
    cell,
    /** A latency bucket, or a failure. */
    outcome: failures[code] ?? bucket % latencyBucketCount,
    hasResponse: bucket < latencyBucketCount,
  }
}

export type GuardTotals = ReturnType<typeof emptyTotals>

/** `requests` ended with a head, or a failure of the side; of `timed`, the time to the head or a minimum is known. */
export const emptyTotals = () => ({
  ...{ requests: 0, failed: 0, rejected: 0, timed: 0 },
  buckets: new Array<number>(latencyBucketCount).fill(0),
})

export const addEvent = (totals: GuardTotals, { outcome, hasResponse }: GuardEvent, count: number): void => {
  if (typeof outcome === 'number') {
    totals.timed += count
    totals.buckets[outcome] = (totals.buckets[outcome] as number) + count
    if (hasResponse) totals.requests += count
  } else if (outcome === 'late') totals.failed += count
  else {
    totals.requests += count
    totals[outcome] += count
  }
}
