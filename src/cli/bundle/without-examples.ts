import { describeComparison } from '../../admin/api/describe-comparison.ts'
import { type ComparisonView, comparisonShape } from '../../admin/api/shadow-report.ts'
import type { DifferenceKind } from '../../observe/candidate/compare/comparison.ts'
import { asList, getMember } from '../../shared/decode.ts'

// What they tell are values of clients; all others tell a status, a type, a failure.
const kindsWithValues: ReadonlySet<DifferenceKind> = new Set(['field', 'value', 'length', 'bytes'])

/**
 * Leaves the values of `compare.examples` out of a response of /shadow or /overview: they are data of clients. A
 * comparison that this version cannot read is left out whole.
 */
export const withoutExamples = (body: unknown): unknown => {
  const comparisons = getMember(body, 'comparisons')
  return comparisons === undefined ? body : { ...Object(body), comparisons: withoutValues(comparisons) }
}

const withoutValues = (comparisons: unknown): readonly ComparisonView[] => {
  try {
    return asList(comparisonShape)(comparisons, 'comparisons').map((comparison) => {
      const rows = comparison.rows.map((row) =>
        kindsWithValues.has(row.kind)
          ? { ...row, pairs: row.pairs.map((pair) => ({ ...pair, primary: null, candidate: null })) }
          : row,
      )
      return { ...comparison, rows, verdict: describeComparison({ ...comparison, rows }) }
    })
  } catch {
    return []
  }
}
