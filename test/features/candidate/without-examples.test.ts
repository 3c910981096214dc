/** The values of responses in a bundle of a gateway without examples, for every kind of difference. */
import { beforeEach, expect, test } from 'vitest'
import { withoutClientData } from '../../../src/features/candidate/bundle.ts'
import { createShadowCounts } from '../../../src/features/candidate/layers/shadow-copies.ts'
import type { ComparedResponse } from '../../../src/features/candidate/observe/compare/comparison.ts'
import { zeroDifferences } from '../../../src/features/candidate/observe/shadow-kinds.ts'
import { comparisonViews } from '../../../src/features/candidate/status/candidate-status.ts'
import { findingInputs } from '../../core/admin/findings/finding-inputs.ts'
import { moveClock } from '../../helpers/odd-clocks.ts'
import { comparedResponse, comparedResponseWith, createCounts } from './observe/compare/response.ts'

beforeEach(() => void moveClock(Date))

const text = (body: string): ComparedResponse => comparedResponseWith(body, 'Content-Type', 'text/plain')

const tagged = (etag: string) => comparedResponseWith('{}', 'Content-Type', 'application/json', 'ETag', etag)

const pairs: readonly (readonly [primary: ComparedResponse, candidate: ComparedResponse])[] = [
  [comparedResponse('{}'), comparedResponse('{}', { failure: 'connect-failed', status: null })],
  [comparedResponse('{}'), comparedResponse('{}', { status: 500 })],
  [comparedResponse('{}'), text('{}')],
  [tagged('"1"'), tagged('"2"')],
  [comparedResponse('{"a":1,"c":1,"d":1,"e":[1]}'), comparedResponse('{"b":1,"c":"1","d":2,"e":[1,2]}')],
  [text('one'), text('two')],
  [comparedResponse('{}'), comparedResponse('{')],
]

const shadowResponse = (examples: boolean) => {
  const counts = createCounts({ fields: ['ETag'], examples })
  for (const [primary, candidate] of pairs) {
    const request = { operation: 'market.insights', requestId: 'r' } as const
    counts.onPair({ ...primary, headMs: 1 }, { ...candidate, headMs: 1 }, request)
  }
  const shadow = { ...createShadowCounts(), underWay: 0, repeated: 0 }
  const candidate = { balance: 'p2c', breaker: null, endpoints: [], shadow, comparison: counts.report } as const
  return { comparisons: comparisonViews(findingInputs({ upstreams: { market: { candidate } } }).report) }
}

test('a bundle of a gateway with examples has what one without has, of each kind', () => {
  const [shown, asked] = [shadowResponse(false), shadowResponse(true)]
  const kinds = asked.comparisons.flatMap(({ rows }) => rows.map(({ kind }) => kind))

  expect(kinds.sort()).toEqual(Object.keys(zeroDifferences).sort())
  expect(asked).not.toEqual(shown)
  expect(withoutClientData(asked)).toEqual(shown)
})

test('a kind that this version does not know has no values', () => {
  const [comparison] = shadowResponse(true).comparisons
  const rows = comparison?.rows.filter(({ kind }) => kind === 'status').map((row) => ({ ...row, kind: 'constructor' }))
  const cleaned = withoutClientData({ comparisons: [{ ...comparison, rows }] })

  expect(cleaned).toMatchObject({ comparisons: [{ rows: [{ pairs: [{ primary: null, candidate: null }] }] }] })
})
