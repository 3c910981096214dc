import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Violation } from '../../../src/core/exchange/failures/errors.ts'
import { createDriftCounts, type DriftCounts } from '../../../src/features/contract/drift-counts.ts'
import {
  type DriftExample,
  maxDriftRows,
  mergeDriftReports,
  withoutRecentDrift,
} from '../../../src/features/contract/drift-report.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-23T10:04:00Z') }))
afterEach(() => vi.useRealTimers())

const minute = 60_000
const risk = 'http://risk-a:8080'
const example: DriftExample = { client: 'bank-a', endpoint: risk, requestId: 'r-1' }

const violation = (more: Partial<Violation> = {}): Violation => ({
  pointer: '/grade',
  in: 'body',
  rule: 'enum',
  detail: 'must be equal to one of the allowed values',
  ...more,
})

const countResponse = (counts: DriftCounts, ...violations: readonly Violation[]): void =>
  counts.countBroken('valuation.score', 'response', violations, false, example)

const countRequest = (counts: DriftCounts, ...violations: readonly Violation[]): void =>
  counts.countBroken('valuation.score', 'request', violations, true, { ...example, endpoint: null })

test('messages are counted by what became of them', () => {
  const counts = createDriftCounts('a')

  counts.countKept('valuation.score', 'request', null)
  counts.countUnchecked('valuation.score', 'request', 'coded')
  countRequest(counts, violation())
  countResponse(counts, violation())

  expect(counts.report.totals).toEqual([
    {
      operation: 'valuation.score',
      direction: 'request',
      checked: 2,
      broken: 1,
      rejected: 1,
      unchecked: { 'too-large': 0, coded: 1, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 },
    },
    expect.objectContaining({ direction: 'response', checked: 1, broken: 1, rejected: 0 }),
  ])
})

test('a way of breaking it is one row, with its first and its last message', () => {
  const counts = createDriftCounts('a')
  countResponse(counts, violation())
  vi.advanceTimersByTime(minute)

  counts.countBroken('valuation.score', 'response', [violation()], false, { ...example, requestId: 'r-2' })

  expect(counts.report.rows).toEqual([
    {
      operation: 'valuation.score',
      direction: 'response',
      ...violation(),
      count: 2,
      recent: 2,
      firstAt: Date.parse('2026-11-23T10:04:00Z'),
      lastAt: Date.parse('2026-11-23T10:05:00Z'),
      example: { ...example, requestId: 'r-2' },
    },
  ])
})

test('the items of an array share a row, and a message that breaks it in several of them counts once', () => {
  const counts = createDriftCounts('a')

  countResponse(counts, violation({ pointer: '/parts/0/id' }), violation({ pointer: '/parts/17/id' }))
  countResponse(counts, violation({ pointer: '/parts/3/id' }))

  expect(counts.report.rows.map(({ pointer, count }) => [pointer, count])).toEqual([['/parts/*/id', 2]])
})

test('the worst of the last five minutes comes first, then the worst of all', () => {
  const counts = createDriftCounts('a')
  for (let n = 0; n < 3; n++) countResponse(counts, violation({ rule: 'once frequent' }))
  countResponse(counts, violation({ rule: 'once rare' }))
  vi.advanceTimersByTime(6 * minute)
  countResponse(counts, violation({ rule: 'of late' }))

  expect(counts.report.rows.map(({ rule, recent }) => [rule, recent])).toEqual([
    ['of late', 1],
    ['once frequent', 0],
    ['once rare', 0],
  ])
})

describe('the table is bounded', () => {
  const rules = (count: number): readonly Violation[] =>
    Array.from({ length: count }, (_, n) => violation({ rule: `rule ${n}` }))

  test('beyond its rows there is one number, and clients cannot take the place of responses', () => {
    const counts = createDriftCounts('a')
    for (const each of rules(500)) countRequest(counts, each)

    countResponse(counts, violation())

    const { rows, others } = counts.report
    expect([rows.length, others]).toEqual([101, 400])
    expect(rows.some(({ direction }) => direction === 'response')).toBe(true)
  })

  test('a row that was not seen for an hour makes room', () => {
    const counts = createDriftCounts('a')
    for (const each of rules(100)) countRequest(counts, each)
    vi.advanceTimersByTime(60 * minute)

    countRequest(counts, violation({ rule: 'new' }))

    const { rows, others } = counts.report
    expect(rows.map(({ rule }) => rule)).toEqual(['new'])
    expect(others).toBe(100)
  })

  test('the endpoints of responses are bounded, and all responses are counted', () => {
    const counts = createDriftCounts('a')

    for (let n = 0; n < 100; n++) counts.countKept('valuation.score', 'response', `http://endpoint-${n}`)

    const { recent } = counts.report
    expect(recent).toHaveLength(33)
    expect(recent.reduce((sum, { checked }) => sum + checked, 0)).toBe(100)
  })
})

describe('what is recent', () => {
  test('is told by endpoint, since the first message that broke it after five minutes without one', () => {
    const counts = createDriftCounts('a')
    countResponse(counts, violation())
    vi.advanceTimersByTime(6 * minute)
    countResponse(counts, violation())
    const since = Date.now()
    vi.advanceTimersByTime(4 * minute)
    countResponse(counts, violation())
    counts.countKept('valuation.score', 'response', risk)
    counts.countKept('valuation.score', 'response', 'http://risk-b:8080')

    expect(counts.report.recent).toEqual([
      {
        operation: 'valuation.score',
        direction: 'response',
        endpoint: risk,
        checked: 3,
        broken: 2,
        brokenSince: since,
        lastBrokenAt: Date.now(),
      },
      {
        operation: 'valuation.score',
        direction: 'response',
        endpoint: 'http://risk-b:8080',
        checked: 1,
        broken: 0,
        brokenSince: null,
        lastBrokenAt: null,
      },
    ])
  })

  test('ends five minutes after the last message that broke it', () => {
    const counts = createDriftCounts('a')
    countResponse(counts, violation())

    vi.advanceTimersByTime(5 * minute)
    counts.countKept('valuation.score', 'response', risk)

    expect(counts.report.recent).toEqual([expect.objectContaining({ checked: 1, broken: 0, brokenSince: null })])
  })
})

test('a request id does not keep the field in memory that it was cut out of', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const [fields, bytes] = [100, 512 * 1024]
  const cutOut = (): string =>
    Buffer.alloc(bytes, 'x').toString('latin1').concat(',', 'r-1234567890-1234567890').slice(-20)
  const counts = createDriftCounts('a')
  collect()
  const before = process.memoryUsage().heapUsed

  for (let n = 0; n < fields; n++)
    counts.countBroken('valuation.score', 'request', [violation({ rule: `rule ${n}` })], false, {
      ...example,
      requestId: cutOut(),
    })
  collect()

  expect(process.memoryUsage().heapUsed - before).toBeLessThan((fields * bytes) / 2)
  expect(counts.report.rows).toHaveLength(fields)
})

/** Counts a message of the same minute that another worker saw. */
const countOf = (counts: DriftCounts, requestId: string, rule = 'enum'): void =>
  counts.countBroken('valuation.score', 'response', [{ pointer: '/grade', in: 'body', rule, detail: 'd' }], false, {
    client: 'bank-a',
    endpoint: risk,
    requestId,
  })

/** Counts what two workers see: the first one message a minute before the second. */
const ofTwoWorkers = () => {
  const since = Date.now()
  const one = createDriftCounts('a')
  countOf(one, 'r-1')
  vi.advanceTimersByTime(60_000)
  const two = createDriftCounts('a')
  countOf(two, 'r-2')
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
      for (let n = 0; n < 100; n++) countOf(counts, 'r', `rule ${worker} ${n}`)
      return counts.report
    })
    const frequent = createDriftCounts('a')
    for (let n = 0; n < 2; n++) countOf(frequent, 'r', 'frequent')

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
