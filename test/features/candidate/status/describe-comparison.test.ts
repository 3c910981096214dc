import { expect, test } from 'vitest'
import {
  type DifferenceKind,
  zeroDifferences,
  zeroUncompared,
} from '../../../../src/features/candidate/observe/shadow-kinds.ts'
import {
  type ComparisonView,
  type DifferenceView,
  describeComparison,
  describeNoCopies,
  describePlace,
  formatEqualShare,
} from '../../../../src/features/candidate/status/describe-comparison.ts'

const none = { p50: null, p95: null, p99: null }

const operation = (more: Partial<ComparisonView['operations'][number]> = {}): ComparisonView['operations'][number] => ({
  operation: 'market.insights',
  ...{ compared: 0, equal: 0, recent: { compared: 0, equal: 0 }, noisePairs: 0, noisePairsMissing: 0 },
  byKind: zeroDifferences,
  uncompared: zeroUncompared,
  latency: { primary: none, candidate: none },
  ...more,
})

const difference = (pointer: string, count: number, more: Partial<DifferenceView> = {}): DifferenceView => ({
  operation: 'market.insights',
  kind: 'value',
  pointer,
  count,
  ...{ recent: 0, firstAt: '', lastAt: '', requestId: null, noise: 0, pairs: [], otherPairs: 0 },
  ...more,
})

const pair = (primary: string | null, candidate: string | null, count: number) => ({
  ...{ digest: 'd', requestId: null },
  ...{ primary, candidate, count },
})

const compared = (all: number, equal: number, rows: readonly DifferenceView[] = [], others = 0) => ({
  ...{ compared: all, equal, operations: [operation()], rows, ways: rows.length, others },
})

test('the verdict has the share of equal responses, and the differences with shown values', () => {
  const grade = difference('/grade', 9, { pairs: [pair('A', 'B', 7), pair('A', 'C', 2)] })
  const untold = difference('/grade', 1, { pairs: [pair(null, null, 1)] })

  const words = '4120 compared, 99.7 % equal; /grade differs in 9 (A→B 7, A→C 2)'
  expect(describeComparison(compared(4120, 4111, [grade]))).toBe(words)
  expect(describeComparison(compared(4120, 4111, [grade]), (count) => count.toLocaleString('en'))).toMatch(/^4,120 /)
  expect(describeComparison(compared(10, 9, [untold]))).toBe('10 compared, 90 % equal; /grade differs in 1')
})

test('the verdict names three places, and the number of further ones', () => {
  const rows = ['/a', '/b', '/c', '/d'].map((pointer) => difference(pointer, 1))

  expect(describeComparison(compared(4, 0, rows))).toMatch(/, \/c differs in 1, and 1 more difference$/)
  expect(describeComparison(compared(5, 0, [...rows, difference('/e', 1)]))).toMatch(/, and 2 more differences$/)
  expect(describeComparison(compared(5, 0, rows, 100))).toMatch(/, and many more differences$/)
})

test('the verdict names the operations where several differ', () => {
  const rows = [difference('/a', 2), difference('/a', 1, { operation: 'valuation.score' })]

  const words = '3 compared, none equal; market.insights /a differs in 2, valuation.score /a differs in 1'
  expect(describeComparison(compared(3, 0, rows))).toBe(words)
})

test('the verdict says how many responses were not compared, and why', () => {
  const uncompared = { ...zeroUncompared, learning: 30, 'too-large': 1 }
  const view = { ...compared(100, 100), operations: [1, 2].map(() => operation({ uncompared, noisePairs: 5 })) }

  expect(describeComparison(view)).toBe('100 compared, all equal, 62 not compared (60 learning, 2 too-large)')
  expect(describeComparison({ ...view, compared: 0, equal: 0 })).toBe(
    'nothing was compared yet: 62 not compared (60 learning, 2 too-large)',
  )
  expect(describeComparison(compared(0, 0))).toBe('nothing was compared yet')
})

test('the verdict says how far noise is learned', () => {
  const describeNone = (more: Parameters<typeof operation>[0]) =>
    describeComparison({ ...compared(0, 0), operations: [operation(more)] })
  const uncompared = { ...zeroUncompared, learning: 3 }

  expect(describeNone({ noisePairs: 2, noisePairsMissing: 3, uncompared })).toBe(
    'nothing was compared yet: noise is learned first: 2 of 5 pairs of market.insights; 3 not compared (learning)',
  )
  expect(describeNone({ noisePairs: 8, noisePairsMissing: 12 })).toContain('8 of 20 pairs of market.insights')
  expect(describeNone({ noisePairs: 5 })).toBe('nothing was compared yet')
})

test.each([
  ['5 %: there are copies', 0.05, false, null],
  ['100 %: the primary gets nothing', 1, false, 'nothing is copied now: the primary gets no requests'],
  ['a takeback: nothing goes to the candidate', 0, true, 'nothing is copied now'],
])('at %s', (_, share, stopped, words) => {
  expect(describeNoCopies({ share, stopped })).toBe(words)
})

test.each([
  [99_999, 100_000, '99.9 %'],
  [1, 100_000, 'under 0.1 %'],
  [1, 3, '33.3 %'],
  [3, 3, 'all'],
  [0, 3, 'none'],
])('neither all nor none comes of rounding: %d of %d', (equal, all, words) => {
  expect(formatEqualShare(equal, all)).toBe(words)
})

test.each<[DifferenceKind, string, string]>([
  ['failure', '', 'the response is incomplete'],
  ['status', '', 'the status differs'],
  ['content-type', '', 'the content type differs'],
  ['field', 'location', 'the field location differs'],
  ['missing', '/a', '/a is missing'],
  ['added', '/a', '/a is added'],
  ['type', '/a', '/a has another type'],
  ['type', '', 'the body has another type'],
  ['value', '/a', '/a differs'],
  ['length', '/a', '/a has another length'],
  ['bytes', '', 'the body differs'],
  ['unreadable', '', 'the body cannot be read'],
])('a way of differing, %s at "%s", is in words: %s', (kind, pointer, words) => {
  expect(describePlace({ kind, pointer })).toBe(words)
})
