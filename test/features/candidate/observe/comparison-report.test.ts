import { beforeEach, expect, test } from 'vitest'
import { quantile } from '../../../../src/core/log/metrics/histogram.ts'
import {
  type ComparisonReport,
  createNoise,
  mergeComparisonReports,
  withoutRecentDifferences,
} from '../../../../src/features/candidate/observe/comparison-report.ts'
import { moveClock } from '../../../helpers/odd-clocks.ts'
import { createCounts, shadowResponse } from './compare/response.ts'

let pass: (ms: number) => void
beforeEach(() => {
  pass = moveClock(Date, Date.parse('2026-11-23T10:04:00Z'))
})

const compareAll = (
  pairs: readonly (readonly [unknown, unknown])[],
  digest = 'digest',
  requestId = 'r-1',
): ComparisonReport => {
  const counts = createCounts({ noise: true }, digest)
  const request = { operation: 'market.insights', requestId } as const
  for (let n = 0; n < 5; n++) counts.onRepeatedPair(shadowResponse({ at: n }), shadowResponse({ at: n + 1 }), request)
  for (const [primary, candidate] of pairs) counts.onPair(shadowResponse(primary), shadowResponse(candidate), request)
  return counts.report
}

test('counts of workers are added up, and equal pairs of values are merged', () => {
  const one = compareAll([
    [{ grade: 'A' }, { grade: 'B' }],
    [{ grade: 'A' }, { grade: 'A' }],
  ])
  pass(1000)
  const other = compareAll([
    [{ grade: 'A' }, { grade: 'B' }],
    [{ grade: 'A' }, { grade: 'C' }],
    [{ n: 1 }, {}],
  ])

  const merged = mergeComparisonReports('digest', [one, other])

  expect(merged.since).toBe(Date.parse('2026-11-23T10:04:00Z'))
  expect(merged.totals).toMatchObject([{ operation: 'market.insights', compared: 5, equal: 1, noisePairs: 10 }])
  expect(merged.rows).toMatchObject([
    { kind: 'value', pointer: '/grade', count: 3, pairs: [{ count: 2 }, { count: 1 }] },
    { kind: 'missing', pointer: '/n', count: 1, pairs: [{ count: 1 }] },
  ])
  expect(merged.noise).toEqual([{ operation: 'market.insights', kind: 'value', pointer: '/at', count: 10 }])
  expect(quantile(merged.totals[0]?.latency.primary ?? { counts: [], sumMs: 0 }, 0.5)).toBeCloseTo(9, 0)
})

test('a merged pair of values has the latest request, in any order of workers', () => {
  const pair = [[{ grade: 'A' }, { grade: 'B' }]] as const
  const before = compareAll(pair, 'digest', 'before')
  pass(1000)
  const last = compareAll(pair, 'digest', 'last')

  for (const all of [[before, last] as const, [last, before] as const])
    expect(mergeComparisonReports('digest', all).rows[0]?.pairs).toMatchObject([{ count: 2, requestId: 'last' }])
})

test('each worker learns noise by itself, and an ended worker misses no pairs', () => {
  const counts = createCounts({ noise: true })
  const request = { operation: 'market.insights', requestId: null } as const
  counts.onRepeatedPair(shadowResponse({ n: 1 }), shadowResponse({ n: 2 }), request)
  const { report } = counts
  const merged = mergeComparisonReports('digest', [report, report, withoutRecentDifferences(report)])

  expect(merged.totals[0]).toMatchObject({ noisePairs: 3, noisePairsMissing: 8 })
})

test('reports on another comparison are left out', () => {
  const [before, now] = [compareAll([[{ n: 1 }, { n: 2 }]], 'before'), compareAll([], 'now')]

  expect(mergeComparisonReports('now', [before, now]).rows).toEqual([])
})

test('an ended worker has no recent counts', () => {
  const report = compareAll([[{ n: 1 }, { n: 2 }]])

  expect(withoutRecentDifferences(report).rows.map(({ count, recent }) => [count, recent])).toEqual([[1, 0]])
})

test('nothing is learned from a pair in which the primary failed, whatever else differs', () => {
  const noise = createNoise('valuation.score')
  const at = { pointer: '/a', primary: '1', candidate: '2', isSafe: false }

  noise.learn([
    { ...at, kind: 'value' },
    { ...at, kind: 'content-type', pointer: '' },
  ])

  expect([noise.pairs(), noise.rows()]).toEqual([0, []])
})
