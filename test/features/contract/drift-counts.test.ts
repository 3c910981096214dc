import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Violation } from '../../../src/core/exchange/failures/errors.ts'
import { createDriftCounts } from '../../../src/features/contract/drift-counts.ts'
import {
  type DriftExample,
  maxDriftRows,
  mergeDriftReports,
  withoutRecentDrift,
} from '../../../src/features/contract/drift-report.ts'
import { collectGarbage } from '../../helpers/collect-garbage.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-23T10:04:00Z') }))
afterEach(() => vi.useRealTimers())

const minute = 60_000
const risk = 'http://risk-a:8080'
const example: DriftExample = { client: 'bank-a', endpoint: risk, requestId: 'r-1' }
const ofClient: DriftExample = { ...example, endpoint: null }
const ofResponses = { operation: 'valuation.score', direction: 'response' } as const

const violation = (more: Partial<Violation> = {}): Violation => ({
  ...{ pointer: '/grade', in: 'body', rule: 'enum', detail: 'must be equal to one of the allowed values' },
  ...more,
})

/** Counts, with what most tests count: messages of one operation. */
const createCounts = () => {
  const counts = createDriftCounts('a')
  return {
    get report() {
      return counts.report
    },
    kept: (endpoint = risk) => counts.countKept('valuation.score', 'response', endpoint),
    response: (more: Partial<Violation> = {}, requestId = 'r-1') =>
      counts.countBroken('valuation.score', 'response', [violation(more)], false, { ...example, requestId }),
    request: (more: Partial<Violation> = {}, requestId = 'r-1') =>
      counts.countBroken('valuation.score', 'request', [violation(more)], true, { ...ofClient, requestId }),
    counts,
  }
}

test('messages are counted by outcome', () => {
  const { counts, request, response } = createCounts()

  counts.countKept('valuation.score', 'request', null)
  counts.countUnchecked('valuation.score', 'request', 'coded')
  request()
  response()

  expect(counts.report.totals).toEqual([
    {
      ...{ operation: 'valuation.score', direction: 'request', checked: 2, broken: 1, rejected: 1 },
      unchecked: { 'too-large': 0, coded: 1, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 },
    },
    expect.objectContaining({ direction: 'response', checked: 1, broken: 1, rejected: 0 }),
  ])
})

test('each kind of violation is one row, with its first and its last message', () => {
  const counts = createCounts()
  const firstAt = Date.now()
  counts.response()
  vi.advanceTimersByTime(minute)

  counts.response({}, 'r-2')

  const times = { count: 2, recent: 2, firstAt, lastAt: firstAt + minute }
  expect(counts.report.rows).toEqual([
    { ...ofResponses, ...violation(), ...times, example: { ...example, requestId: 'r-2' } },
  ])
})

test('the items of an array share a row, and a message that breaks it in several of them counts once', () => {
  const { counts, response } = createCounts()
  const items = ['/parts/0/id', '/parts/17/id'].map((pointer) => violation({ pointer }))
  counts.countBroken('valuation.score', 'response', items, false, example)
  response({ pointer: '/parts/3/id' })

  expect(counts.report.rows).toMatchObject([{ pointer: '/parts/*/id', count: 2 }])
})

test('the worst of the last five minutes comes first, then the worst of all', () => {
  const counts = createCounts()
  for (const rule of ['frequent', 'frequent', 'frequent', 'rare']) counts.response({ rule })
  vi.advanceTimersByTime(6 * minute)
  counts.response({ rule: 'of late' })

  expect(counts.report.rows.map(({ rule, recent }) => `${rule} ${recent}`)).toEqual([
    'of late 1',
    'frequent 0',
    'rare 0',
  ])
})

describe('the table is bounded', () => {
  test('violations beyond the rows are one number, and requests take no row of responses', () => {
    const counts = createCounts()
    for (let n = 0; n < 500; n++) counts.request({ rule: `rule ${n}` })
    counts.response()

    const { rows, others } = counts.report
    expect([rows.length, others]).toEqual([101, 400])
    expect(rows).toContainEqual(expect.objectContaining({ direction: 'response' }))
  })

  test('a row that was not seen for an hour makes room', () => {
    const counts = createCounts()
    for (let n = 0; n < 100; n++) counts.request({ rule: `rule ${n}` })
    vi.advanceTimersByTime(60 * minute)
    counts.request({ rule: 'new' })

    expect(counts.report).toMatchObject({ rows: [{ rule: 'new' }], others: 100 })
  })

  test('the endpoints of responses are bounded, and all responses are counted', () => {
    const counts = createCounts()
    for (let n = 0; n < 100; n++) counts.kept(`http://endpoint-${n}`)

    const { recent } = counts.report
    expect([recent.length, recent.reduce((sum, { checked }) => sum + checked, 0)]).toEqual([33, 100])
  })
})

describe('what is recent', () => {
  test('recent counts are by endpoint, since the first violation after five minutes without one', () => {
    const counts = createCounts()
    counts.response()
    vi.advanceTimersByTime(6 * minute)
    counts.response()
    const brokenSince = Date.now()
    vi.advanceTimersByTime(4 * minute)
    counts.response()
    counts.kept()
    counts.kept('http://risk-b:8080')

    const none = { broken: 0, brokenSince: null, lastBrokenAt: null }
    expect(counts.report.recent).toEqual([
      { ...ofResponses, endpoint: risk, checked: 3, broken: 2, brokenSince, lastBrokenAt: Date.now() },
      { ...ofResponses, endpoint: 'http://risk-b:8080', checked: 1, ...none },
    ])
  })

  test('recent counts end five minutes after the last violation', () => {
    const counts = createCounts()
    counts.response()
    vi.advanceTimersByTime(5 * minute)
    counts.kept()

    expect(counts.report.recent).toMatchObject([{ checked: 1, broken: 0, brokenSince: null }])
  })
})

test('a request id does not keep the field in memory that it was cut out of', () => {
  const [fields, bytes] = [100, 512 * 1024]
  const cutOut = (): string =>
    Buffer.alloc(bytes, 'x').toString('latin1').concat(',', 'r-1234567890-1234567890').slice(-20)
  const counts = createCounts()
  collectGarbage()
  const before = process.memoryUsage().heapUsed

  for (let n = 0; n < fields; n++) counts.request({ rule: `rule ${n}` }, cutOut())
  collectGarbage()

  expect(process.memoryUsage().heapUsed - before).toBeLessThan((fields * bytes) / 2)
  expect(counts.report.rows).toHaveLength(fields)
})

describe('the reports of several workers', () => {
  /** Counts what two workers see: the first one message a minute before the second. */
  const ofTwoWorkers = () => {
    const since = Date.now()
    const [one, two] = [createCounts(), createCounts()]
    one.response()
    vi.advanceTimersByTime(minute)
    two.response({}, 'r-2')
    two.kept()
    return { reports: [one.report, two.report], since }
  }

  test('reports of workers merge in any order: counts add up, and the latest message is kept', () => {
    const { reports, since } = ofTwoWorkers()
    const lastAt = since + minute

    const merged = mergeDriftReports('a', reports)

    expect(merged).toMatchObject({
      since,
      totals: [{ checked: 3, broken: 2 }],
      recent: [{ checked: 3, brokenSince: since, lastBrokenAt: lastAt }],
      rows: [{ count: 2, recent: 2, firstAt: since, lastAt, example: { ...example, requestId: 'r-2' } }],
      others: 0,
    })
    expect(mergeDriftReports('a', reports.toReversed())).toEqual(merged)
  })

  test('a merged report has the 200 worst rows, and one number for the rest', () => {
    const workers = [0, 1, 2, 3].map(() => createCounts())
    for (const [worker, counts] of workers.slice(1).entries())
      for (let n = 0; n < 100; n++) counts.response({ rule: `rule ${worker} ${n}` })
    for (let n = 0; n < 2; n++) workers[0]?.response({ rule: 'frequent' })
    const { rows, others } = mergeDriftReports('a', workers.map(({ report }) => report).toReversed())

    expect([rows.length, others, rows[0]?.rule]).toEqual([maxDriftRows, 101, 'frequent'])
  })

  test('a report on another contract is left out', () => {
    const nothing = { since: null, totals: [], recent: [], rows: [], others: 0 }

    expect(mergeDriftReports('b', ofTwoWorkers().reports)).toEqual({ digest: 'b', ...nothing })
  })

  test('the report of an ended worker keeps its counts, and has no recent ones', () => {
    const left = withoutRecentDrift(mergeDriftReports('a', ofTwoWorkers().reports))

    expect(left).toMatchObject({ totals: [{ broken: 2 }], recent: [], rows: [{ count: 2, recent: 0 }] })
  })
})
