/** When a process reports what it has counted, on a clock that is not real. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createGuardReporter,
  type GuardReport,
} from '../../../../../src/features/candidate/observe/guard/guard-counts.ts'
import {
  cellCount,
  failureCode,
  guardKeyBase,
  latencyBucket,
  latencyBucketCount,
  latencyBucketEnd,
  readGuardKey,
  respondedCode,
  waitedCode,
} from '../../../../../src/features/candidate/observe/guard/guard-key.ts'
import { allOperations, sides } from '../../../../../src/operations.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Counts = ReturnType<ReturnType<typeof createGuardReporter>['open']>

const begin = (counts: Counts) => counts.begin('market.insights', 'candidate', 7, true)

const openGuardReporter = () => {
  const all: (readonly GuardReport[])[] = []
  const reporter = createGuardReporter((reports) => all.push(reports))
  return { reporter, all, counts: reporter.open('market', 'era') }
}

const readAll = (list: readonly number[] = []) =>
  list.flatMap((key, i) => (i % 2 === 0 ? [{ ...readGuardKey(key), times: list[i + 1] }] : []))

test('counts are reported once, within a quarter of a second', () => {
  const { all, counts } = openGuardReporter()

  for (let nth = 0; nth < 3; nth++) counts.failed(begin(counts), 'failed')
  vi.advanceTimersByTime(250)

  expect(all).toMatchObject([[{ group: 'market', era: 'era', waiting: [] }]])
  expect(readAll(all[0]?.[0]?.counts)).toMatchObject([{ outcome: 'failed', side: 'candidate', cell: 7, times: 3 }])
  vi.advanceTimersByTime(60_000)
  expect([all.length, vi.getTimerCount()]).toEqual([1, 0])
})

test('a request that waits is reported again and again with its age, until there is a head', () => {
  const { all, counts } = openGuardReporter()
  const request = begin(counts)

  vi.advanceTimersByTime(1000)
  counts.responded(request)
  vi.advanceTimersByTime(1000)

  const ages = [250, 500, 750, 1000].map((ms) => [latencyBucket(ms)])
  expect(all.map(([report]) => readAll(report?.waiting).map(({ outcome }) => outcome))).toEqual([...ages, []])
  expect(readAll(all.at(-1)?.[0]?.counts)).toMatchObject([
    { outcome: latencyBucket(1000), hasResponse: true, times: 1 },
  ])
})

test.each([
  ['the configuration is loaded again', []],
  ['an edit of the share is rejected', ['rejected']],
])('a request that waits while %s still waits', (_, meanwhile) => {
  const { reporter, all, counts } = openGuardReporter()
  begin(counts)
  for (const era of meanwhile) reporter.open('market', era)

  begin(reporter.open('market', 'era'))
  vi.advanceTimersByTime(250)

  expect(all.at(-1)?.map(({ waiting }) => readAll(waiting).map(({ times }) => times))).toEqual([[2]])
  expect(reporter.open('market', 'another')).not.toBe(counts)
})

test('a request that ends twice counts once', () => {
  const { all, counts } = openGuardReporter()
  const request = counts.begin('market.insights', 'primary', 0, true)

  counts.responded(request)
  counts.failed(request, 'failed')
  counts.left(request)
  vi.advanceTimersByTime(250)

  expect(readAll(all[0]?.[0]?.counts)).toMatchObject([{ outcome: 0, times: 1 }])
})

test('shares that follow each other are reported apart', () => {
  const { all, counts, reporter } = openGuardReporter()
  for (const each of [counts, reporter.open('market', 'next')]) each.late('market.insights', 'candidate', 1)
  vi.advanceTimersByTime(250)

  expect(all[0]?.map(({ era }) => era)).toEqual(['era', 'next'])
})

test('a closed reporter reports nothing, and leaves no timer', () => {
  const { all, counts, reporter } = openGuardReporter()
  begin(counts)
  reporter.close()
  vi.advanceTimersByTime(1000)

  expect([all, vi.getTimerCount()]).toEqual([[], 0])
})

describe('keys of counts', () => {
  test('a key decodes to its operation, side, cell and outcome', () => {
    for (const [operation, { id }] of allOperations.entries())
      for (const side of sides)
        for (const cell of [0, 1, cellCount - 1]) {
          const base = guardKeyBase(id, side, cell)
          const event = { operation, side, cell }

          for (const outcome of ['failed', 'rejected', 'late'] as const)
            expect(readGuardKey(base + failureCode(outcome))).toMatchObject({ ...event, outcome })
          for (const ms of [0, 1, 37, 5000, 1e9]) {
            const outcome = latencyBucket(ms)
            expect(readGuardKey(base + respondedCode(ms))).toEqual({ ...event, outcome, hasResponse: true })
            expect(readGuardKey(base + waitedCode(ms))).toEqual({ ...event, outcome, hasResponse: false })
          }
        }
  })

  test('a latency bucket begins where the one before ends', () => {
    for (const ms of [1.01, 2, 9.9, 45, 1000, 59_999]) {
      const bucket = latencyBucket(ms)

      expect(ms).toBeLessThanOrEqual(latencyBucketEnd(bucket) * (1 + 1e-9))
      expect(ms).toBeGreaterThan(latencyBucketEnd(bucket - 1) * (1 - 1e-9))
    }
    expect([latencyBucket(0), latencyBucket(1), latencyBucket(1e12)]).toEqual([0, 0, latencyBucketCount - 1])
  })
})
