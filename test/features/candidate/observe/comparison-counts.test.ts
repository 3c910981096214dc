import { beforeEach, describe, expect, test } from 'vitest'
import type { ShadowedRequest, ShadowResponse } from '../../../../src/features/candidate/observe/compare/comparison.ts'
import type { ComparisonCounts } from '../../../../src/features/candidate/observe/comparison-counts.ts'
import { moveClock } from '../../../helpers/odd-clocks.ts'
import { createCounts, shadowResponse } from './compare/response.ts'

let pass: (ms: number) => void
beforeEach(() => {
  pass = moveClock(Date, Date.parse('2026-11-23T10:04:00Z'))
})

const request = (requestId: string | null = 'r-1', operation: ShadowedRequest['operation'] = 'market.insights') => ({
  operation,
  requestId,
  at: Date.now(),
})

const compare = (counts: ComparisonCounts, primary: unknown, candidate: unknown, id = 'r-1'): void =>
  counts.onPair(shadowResponse(primary), shadowResponse(candidate), request(id))

const repeat = (counts: ComparisonCounts, first: unknown, second: unknown): void =>
  counts.onRepeatedPair(shadowResponse(first), shadowResponse(second), request())

const placesOf = (counts: ComparisonCounts) =>
  counts.report.rows.map(({ kind, pointer, count }) => `${kind} ${pointer} ${count}`)

test('pairs are counted by operation, and by the kinds in which they differ', () => {
  const counts = createCounts()
  compare(counts, { grade: 'A' }, { grade: 'A' })
  compare(counts, { grade: 'A', n: 1 }, { grade: 'B', n: 2 })
  compare(counts, { grade: 'A' }, {})
  counts.onPair(shadowResponse({}), shadowResponse({}, { status: 500 }), request('r-1', 'valuation.score'))
  counts.onPair(shadowResponse({}, { failure: 'truncated' }), shadowResponse({}), request())

  const totals = counts.report.totals.toSorted((a, b) => b.compared - a.compared)
  const of = { uncompared: { 'primary-failed': 1, 'too-large': 0 }, byKind: { value: 1, missing: 1, status: 0 } }
  expect(totals).toMatchObject([
    { operation: 'market.insights', compared: 3, equal: 1, noisePairs: 0, ...of },
    { operation: 'valuation.score', compared: 1, equal: 0, byKind: { status: 1 } },
  ])
})

test('a place where responses differ is one row, with its first and its last response', () => {
  const counts = createCounts()
  compare(counts, { items: [{ price: 1 }, { price: 2 }] }, { items: [{ price: 2 }, { price: 3 }] })
  pass(60_000)

  compare(counts, { items: [{ price: 1 }] }, { items: [{ price: 5 }] }, 'r-2')

  const digest = expect.stringMatching(/^[0-9a-f]{16}$/)
  const untold = { digest, count: 1, primary: null, candidate: null }
  expect(counts.report.rows).toEqual([
    {
      ...{ operation: 'market.insights', kind: 'value', pointer: '/items/*/price', count: 2, recent: 2 },
      ...{ firstAt: Date.parse('2026-11-23T10:04:00Z'), lastAt: Date.parse('2026-11-23T10:05:00Z') },
      example: { requestId: 'r-2' },
      pairs: ['r-1', 'r-2'].map((requestId) => ({ ...untold, requestId })),
      otherPairs: 0,
    },
  ])
})

describe('the values that differ', () => {
  test('pairs of values are distinguished by digests, the most frequent first', () => {
    const counts = createCounts()
    compare(counts, { grade: 'A' }, { grade: 'C' })
    for (const id of ['r-1', 'r-2', 'r-3']) compare(counts, { grade: 'A' }, { grade: 'B' }, id)
    const { pairs } = counts.report.rows[0] ?? {}

    expect(pairs?.map(({ count, requestId }) => `${requestId} ${count}`)).toEqual(['r-3 3', 'r-1 1'])
  })

  test('without examples the report holds no value', () => {
    const counts = createCounts({ fields: ['X-Owner'] })
    const secret = (text: string) =>
      shadowResponse({ name: text, list: [text] }, { fields: ['Content-Type', 'application/json', 'X-Owner', text] })

    counts.onPair(secret('Jane Doe'), secret('John Roe'), request())
    counts.onPair(secret('Jane Doe'), shadowResponse({ [`${'4929'.repeat(4)}`]: 1 }), request())

    const printed = JSON.stringify(counts.report)
    expect(printed).not.toMatch(/Jane|John|Doe|Roe|4929/)
    expect(placesOf(counts)).toContain('value /name 1')
  })

  test('another gateway has other digests of the same values', () => {
    const [one, other] = [createCounts({}, '', 'one'), createCounts({}, '', 'other')]
    for (const counts of [one, other]) compare(counts, { grade: 'A' }, { grade: 'B' })
    const digests = [one, other].map(({ report }) => report.rows[0]?.pairs[0]?.digest)

    expect(digests[0]).not.toBe(digests[1])
  })

  test('with examples, values are shown and cut; eight pairs are kept, and the rest is counted', () => {
    const counts = createCounts({ examples: true })
    for (let n = 1; n <= 20; n++) compare(counts, { grade: 'A' }, { grade: String.fromCharCode(66 + n).repeat(500) })
    const [row] = counts.report.rows

    expect(row?.pairs[0]).toMatchObject({ primary: 'A', candidate: `${'C'.repeat(99)}…` })
    expect([row?.pairs.length, row?.otherPairs]).toEqual([8, 12])
  })

  test('a status, a type and a failure are always shown', () => {
    const counts = createCounts()
    counts.onPair(shadowResponse({}), shadowResponse({}, { status: 503 }), request())
    counts.onPair(shadowResponse({}), shadowResponse({}, { failure: 'connect-failed', status: null }), request())
    compare(counts, { n: 1 }, { n: '1' })
    compare(counts, { n: 1 }, {})

    const told = counts.report.rows.map(
      ({ kind, pairs: [first] }) => `${kind}: ${first?.primary} → ${first?.candidate}`,
    )

    expect(told.toSorted()).toEqual([
      'failure: 200 → connect-failed',
      'missing: number → nothing',
      'status: 200 → 503',
      'type: number → string',
    ])
  })
})

test('differences beyond the rows of the table are one number', () => {
  const counts = createCounts()
  for (let n = 0; n < 300; n++) compare(counts, { [`m${n}`]: 1 }, {})

  expect([counts.report.rows.length, counts.report.others]).toEqual([200, 100])
})

/** Makes a document of sixty members, with which no other value agrees. */
const sixty = (value: number) => Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`m${n}`, value]))

test('a response with hundreds of differences fills fifty rows, and one number counts the rest', () => {
  const counts = createCounts()
  compare(counts, sixty(1), sixty(2))

  expect([counts.report.rows.length, counts.report.others]).toEqual([50, 1])
})

describe('noise', () => {
  let counts: ComparisonCounts
  beforeEach(() => {
    counts = createCounts({ noise: true })
  })

  const noisy = (n: number, grade = 'A') => ({ id: `id-${n}`, generatedAt: 1000 + n, grade, rows: [{ at: n }] })

  test('is learned first, from requests that the primary gets twice', () => {
    compare(counts, noisy(1), noisy(2, 'B'))
    for (let n = 0; n < 5; n++) repeat(counts, noisy(n), noisy(n + 1))
    compare(counts, noisy(1), noisy(2))
    compare(counts, noisy(1), noisy(2, 'B'))

    expect(placesOf(counts)).toEqual(['value /grade 1'])
    expect(counts.report.totals).toMatchObject([{ compared: 2, equal: 1, noisePairs: 5, uncompared: { learning: 1 } }])
    expect(counts.report.noise.map(({ kind, pointer, count }) => `${kind} ${pointer} ${count}`)).toEqual([
      'value /id 5',
      'value /generatedAt 5',
      'value /rows/*/at 5',
    ])
  })

  test('is learned at more places than a comparison tells apart', () => {
    for (let n = 0; n < 5; n++) repeat(counts, sixty(n), sixty(n + 1))
    compare(counts, sixty(1), sixty(2))

    expect([counts.report.noise.length, placesOf(counts)]).toEqual([60, []])
  })

  test('of one kind hides no other kind at the same place', () => {
    for (let n = 0; n < 5; n++) repeat(counts, noisy(n), noisy(n + 1))
    compare(counts, noisy(1), { ...noisy(2), id: 7, generatedAt: null })

    expect(placesOf(counts)).toEqual(['type /id 1', 'type /generatedAt 1'])
  })

  test('noise that becomes rare is compared again', () => {
    repeat(counts, { n: 1 }, { n: 2 })
    for (let n = 0; n < 49; n++) repeat(counts, { n: 1 }, { n: 1 })
    compare(counts, { n: 1 }, { n: 2 })
    expect(placesOf(counts)).toEqual([])

    repeat(counts, { n: 1 }, { n: 1 })
    compare(counts, { n: 1 }, { n: 2 })

    expect(placesOf(counts)).toEqual(['value /n 1'])
  })

  test('a pair that differs in status or failure teaches no noise', () => {
    for (let n = 0; n < 9; n++)
      counts.onRepeatedPair(shadowResponse({}), shadowResponse({}, { status: 503 }), request())

    expect([counts.report.totals, counts.report.noise]).toEqual([[], []])
  })

  const take = (times: number, operation: ShadowedRequest['operation'] = 'market.insights') =>
    Array.from({ length: times }, () => counts.wantsRepeat(operation)).filter(Boolean).length

  test('the first requests of an operation are repeated, and then one in a hundred', () => {
    expect(take(10)).toBe(10)
    for (let n = 0; n < 5; n++) repeat(counts, {}, {})

    const later = take(10_000)
    expect(later).toBeGreaterThan(30)
    expect(later).toBeLessThan(300)
  })

  test('learning noise is given up after ten repeats that taught nothing', () => {
    const before = take(100)
    for (let n = 0; n < 10; n++) counts.onRepeat('market.insights')

    expect(before).toBe(100)
    expect(take(100)).toBeLessThan(20)
  })

  test('POSTs are compared at once, without learned noise', () => {
    counts.onPair(shadowResponse({ n: 1 }), shadowResponse({ n: 2 }), request('r-1', 'valuation.score'))

    expect([take(1000, 'valuation.score'), placesOf(counts)]).toEqual([0, ['value /n 1']])
  })

  test('is not learned unless it is asked for', () => {
    expect(createCounts().wantsRepeat('market.insights')).toBe(false)
  })
})

test('the latency of both sides is of the same requests', () => {
  const counts = createCounts()
  const pair = (headMs: number, candidate: Partial<ShadowResponse>) =>
    counts.onPair(shadowResponse({}, { headMs }), shadowResponse({}, candidate), request())
  for (const ms of [10, 20, 30]) pair(ms, { headMs: 10 * ms })
  pair(5, { headMs: null, failure: 'headers-timeout' })

  const { latency } = counts.report.totals[0] ?? {}

  expect([latency?.primary.sumMs, latency?.candidate.sumMs]).toEqual([60, 600])
})
