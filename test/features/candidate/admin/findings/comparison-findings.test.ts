/** The findings about candidates whose answers differ, on the counts of a process and a fake clock. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  type ComparisonCounts,
  createComparisonCounts,
} from '../../../../../src/features/candidate/observe/comparison-counts.ts'
import { endpoint, findingInputs, renderFindings } from '../../../../core/admin/findings/finding-inputs.ts'
import { answer } from '../../observe/compare/answer.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-23T10:04:00Z') }))
afterEach(() => vi.useRealTimers())

const createCounts = (): ComparisonCounts =>
  createComparisonCounts(
    'digest',
    { fields: [], ignore: [], numbers: null, arrays: {}, maxBody: 1024, noise: false, examples: true },
    'key',
  )

const toAnswer = (body: unknown) => ({
  ...answer(JSON.stringify(body)),
  headMs: 1,
})

const compare = (counts: ComparisonCounts, equal: number, differing: number, name = 'grade'): void => {
  const request = { operation: 'market.insights', requestId: 'what-a-client-wrote' } as const
  for (let n = 0; n < equal; n++) counts.onPair(toAnswer({ n }), toAnswer({ n }), request)
  for (let n = 0; n < differing; n++) counts.onPair(toAnswer({ [name]: 'Jane' }), toAnswer({ [name]: 'Joe' }), request)
}

const findingsOf = (counts: ComparisonCounts, compareKeys: object = {}) =>
  renderFindings(
    findingInputs({
      at: Date.now(),
      settings: {
        upstreams: {
          market: {
            endpoints: ['http://market-a'],
            candidate: { endpoints: ['http://market-next'], shadow: { compare: compareKeys } },
          },
        },
      },
      upstreams: {
        market: {
          candidate: {
            ...{ balance: 'p2c', breaker: null, shadow: null, comparison: counts.report },
            endpoints: [endpoint({ url: 'http://market-next' })],
          },
        },
      },
    }),
  )

test('too few equal answers are a warning, with what differs and without values', () => {
  const counts = createCounts()
  compare(counts, 19, 1)

  expect(findingsOf(counts)).toEqual([
    {
      severity: 'warning',
      about: 'upstreams.market.candidate',
      cause:
        '5 % of the answers of the candidate differ from those of the primary (1 of 20 compared in the last 5 minutes): market.insights /grade differs in 1',
      alsoAbout: [],
      details: [],
      since: '2026-11-23T10:04:00.000Z',
      command: 'lender-gateway shift report market',
    },
  ])
})

test('as many as the file asks for are none', () => {
  const counts = createCounts()
  compare(counts, 99, 1)

  expect(findingsOf(counts)).toEqual([])
  expect(findingsOf(counts, { minEqual: '99.5%' })).toHaveLength(1)
  expect(findingsOf(counts, { minEqual: '100%' })).toHaveLength(1)
  expect(findingsOf(counts, { minEqual: 'none' })).toEqual([])
})

test('a few answers are none', () => {
  const counts = createCounts()
  compare(counts, 0, 19)

  expect(findingsOf(counts)).toEqual([])
})

test('a candidate that was mended is none any more after five minutes', () => {
  const counts = createCounts()
  compare(counts, 0, 100)
  vi.advanceTimersByTime(310_000)
  compare(counts, 30, 0)

  expect(findingsOf(counts)).toEqual([])
})

test('when the table is full, further ways are many, and places may be unknown', () => {
  const counts = createCounts()
  for (let n = 0; n < 201; n++) compare(counts, 0, 1, `m${String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26))}`)
  const full = findingsOf(counts)[0]?.cause
  vi.advanceTimersByTime(310_000)
  compare(counts, 0, 20, 'grade')

  expect(full).toMatch(/ in 1, and there are many more ways$/)
  expect(findingsOf(counts)[0]?.cause).toMatch(/ in the last 5 minutes\): where is not known, since the table is full$/)
})

test('three places are named', () => {
  const counts = createCounts()
  for (const name of ['a', 'b', 'c', 'd', 'e']) compare(counts, 0, 10, name)

  expect(findingsOf(counts)[0]?.cause).toMatch(/\/c differs in 10, and there are 2 more ways$/)
})
