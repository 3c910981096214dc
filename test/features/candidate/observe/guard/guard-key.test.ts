import { expect, test } from 'vitest'
import {
  answeredCode,
  cellCount,
  failureCode,
  guardKeyBase,
  latencyBucket,
  latencyBucketCount,
  latencyBucketEnd,
  readGuardKey,
  waitedCode,
} from '../../../../../src/features/candidate/observe/guard/guard-key.ts'
import { allOperations, sides } from '../../../../../src/operations.ts'

test('a key says what it was made of', () => {
  for (const [operation, { id }] of allOperations.entries())
    for (const side of sides)
      for (const cell of [0, 1, cellCount - 1]) {
        const base = guardKeyBase(id, side, cell)
        const event = { operation, side, cell }

        for (const outcome of ['failed', 'refused', 'late'] as const)
          expect(readGuardKey(base + failureCode(outcome))).toMatchObject({ ...event, outcome })
        for (const ms of [0, 1, 37, 5000, 1e9]) {
          const outcome = latencyBucket(ms)
          expect(readGuardKey(base + answeredCode(ms))).toEqual({ ...event, outcome, isAnswered: true })
          expect(readGuardKey(base + waitedCode(ms))).toEqual({ ...event, outcome, isAnswered: false })
        }
      }
})

test('a bucket holds the times between the end of the one before and its own', () => {
  for (const ms of [1.01, 2, 9.9, 45, 1000, 59_999]) {
    const bucket = latencyBucket(ms)

    expect(ms).toBeLessThanOrEqual(latencyBucketEnd(bucket) * (1 + 1e-9))
    expect(ms).toBeGreaterThan(latencyBucketEnd(bucket - 1) * (1 - 1e-9))
  }
  expect([latencyBucket(0), latencyBucket(1), latencyBucket(1e12)]).toEqual([0, 0, latencyBucketCount - 1])
})
