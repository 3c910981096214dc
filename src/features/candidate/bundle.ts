import type { BundlePart } from '../../core/cli/built-in-command.ts'
import { asList, getMember } from '../../core/lib/text/decode.ts'
import { type ComparisonView, comparisonShape, describeComparison } from './status/describe-comparison.ts'

export const bundledReports: Required<BundlePart>['bundledReports'] = [
  { name: 'shadow.json', path: '/shadow', about: 'how candidates respond, without values' },
]

// A status, a type or a failure. Values of any other kind may be a client's data.
const safeKinds = ['failure', 'status', 'content-type', 'missing', 'added', 'type', 'unreadable']

/** Removes the values of `compare.examples`, which are clients' data, and comparisons that this version cannot read. */
export const withoutClientData = (body: unknown): unknown => {
  const comparisons = getMember(body, 'comparisons')
  return comparisons === undefined ? body : { ...Object(body), comparisons: withoutValues(comparisons) }
}

const withoutValues = (comparisons: unknown): readonly ComparisonView[] => {
  try {
    return asList(comparisonShape)(comparisons, 'comparisons').map((comparison) => {
      const rows = comparison.rows.map((row) =>
        safeKinds.includes(row.kind)
          ? row
          : { ...row, pairs: row.pairs.map((pair) => ({ ...pair, primary: null, candidate: null })) },
      )
      return { ...comparison, rows, verdict: describeComparison({ ...comparison, rows }) }
    })
  } catch {
    return []
  }
}
