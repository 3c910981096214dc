import type { BundlePart } from '../../core/cli/built-in-command.ts'
import { asList, getMember } from '../../core/lib/text/decode.ts'
import type { DifferenceKind } from './observe/compare/comparison.ts'
import { type ComparisonView, comparisonShape, describeComparison } from './status/describe-comparison.ts'

export const bundledReports: Required<BundlePart>['bundledReports'] = [
  { name: 'shadow.json', path: '/shadow', about: 'how candidates answer, without values' },
]

// What differs in these kinds is a status, a type, a failure; in the others, a value of a client. A kind of a later
// version is none of them.
const isSafeKind: Readonly<Record<DifferenceKind, boolean>> = {
  failure: true,
  status: true,
  'content-type': true,
  field: false,
  missing: true,
  added: true,
  type: true,
  value: false,
  length: false,
  bytes: false,
  unreadable: true,
}

/**
 * Leaves the values of `compare.examples` out of a response of /shadow or /overview: they are data of clients. A
 * comparison that this version cannot read is left out whole.
 */
export const withoutClientData = (body: unknown): unknown => {
  const comparisons = getMember(body, 'comparisons')
  return comparisons === undefined ? body : { ...Object(body), comparisons: withoutValues(comparisons) }
}

const withoutValues = (comparisons: unknown): readonly ComparisonView[] => {
  try {
    return asList(comparisonShape)(comparisons, 'comparisons').map((comparison) => {
      const rows = comparison.rows.map((row) =>
        isSafeKind[row.kind] === true
          ? row
          : { ...row, pairs: row.pairs.map((pair) => ({ ...pair, primary: null, candidate: null })) },
      )
      return { ...comparison, rows, verdict: describeComparison({ ...comparison, rows }) }
    })
  } catch {
    return []
  }
}
