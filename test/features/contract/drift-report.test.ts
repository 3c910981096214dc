import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createDriftCounts, type DriftCounts } from '../../../src/features/contract/drift-counts.ts'
import { maxDriftRows, mergeDriftReports, withoutRecentDrift } from '../../../src/features/contract/drift-report.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const risk = 'http://risk-a:8080'

const countBroken = (counts: DriftCounts, requestId: string, rule = 'enum'): void =>
  counts.countBroken('valuation.score', 'response', [{ pointer: '/grade', in: 'body', rule, detail: 'd' }], false, {
    client: 'bank-a',
    endpoint: risk,
    requestId,
  })

/** Counts what two workers see: the first one message a minute before the second. */
const ofTwoWorkers = () => {
  const since = Date.now()
  const one = createDriftCounts('a')
  countBroken(one, 'r-1')
  vi.advanceTimersByTime(60_000)
  const two = createDriftCounts('a')
  countBroken(two, 'r-2')
  two.countKept('valuation.score', 'response', risk)
  return { reports: [one.report, two.report], since }
}

describe('the reports of several workers', () => {
  test('are one: counts add up, and the last message is that of all', () => {
    const { reports, since } = ofTwoWorkers()

    const { since: countedSince, totals, recent, rows, others } = mergeDriftReports('a', reports)

    expect(countedSince).toBe(since)
    expect(totals).toEqual([expect.objectContaining({ checked: 3, broken: 2 })])
    expect(recent).toEqual([expect.objectContaining({ checked: 3, brokenSince: since, lastBrokenAt: since + 60_000 })])
    expect(rows).toEqual([
      expect.objectContaining({
        ...{ count: 2, recent: 2, firstAt: since, lastAt: since + 60_000 },
        example: { client: 'bank-a', endpoint: risk, requestId: 'r-2' },
      }),
    ])
    expect(others).toBe(0)
  })

  test('are merged in any order', () => {
    const { reports } = ofTwoWorkers()

    expect(mergeDriftReports('a', reports.toReversed())).toEqual(mergeDriftReports('a', reports))
  })

  test('have at most 200 rows in all, the worst; the rest is one number', () => {
    const workers = [0, 1, 2].map((worker) => {
      const counts = createDriftCounts('a')
      for (let n = 0; n < 100; n++) countBroken(counts, 'r', `rule ${worker} ${n}`)
      return counts.report
    })
    const frequent = createDriftCounts('a')
    for (let n = 0; n < 2; n++) countBroken(frequent, 'r', 'frequent')

    const { rows, others } = mergeDriftReports('a', [...workers, frequent.report])

    expect([rows.length, others, rows[0]?.rule]).toEqual([maxDriftRows, 101, 'frequent'])
  })

  test('on another contract are left out: a worker that has not reloaded yet', () => {
    const { reports } = ofTwoWorkers()

    expect(mergeDriftReports('b', reports)).toEqual({
      digest: 'b',
      since: null,
      totals: [],
      recent: [],
      rows: [],
      others: 0,
    })
  })
})

test('of a worker that has ended the counts stay, and nothing is recent', () => {
  const { reports } = ofTwoWorkers()

  const left = withoutRecentDrift(mergeDriftReports('a', reports))

  expect(left.totals).toEqual([expect.objectContaining({ broken: 2 })])
  expect([left.recent, left.rows.map(({ count, recent }) => [count, recent])]).toEqual([[], [[2, 0]]])
})
