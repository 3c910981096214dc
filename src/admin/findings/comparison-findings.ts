import type { DifferenceRow } from '../../observe/candidate/comparison-report.ts'
import { type Group, groups } from '../../operations.ts'
import { formatShare } from '../../units.ts'
import { describeMore, describePlace } from '../api/describe-comparison.ts'
import { sumComparison } from '../api/upstream-status.ts'
import { createFinding, type Finding, unknownPlaces } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

// Of fewer a share says little.
const minCompared = 20

const maxPlaces = 3

/** Finds candidates of which too few answers of the last five minutes are equal to those of the primary. */
export const comparisonFindings = (inputs: FindingInputs): readonly Finding[] =>
  groups.flatMap((group) => differingAnswers(group, inputs) ?? [])

const differingAnswers = (group: Group, { config, report }: FindingInputs): Finding | null => {
  const comparison = report.upstreams[group].candidate?.comparison ?? null
  const minEqual = config.upstreams[group].candidate?.shadow?.compare?.minEqual ?? null
  if (comparison === null || minEqual === null) return null
  const { recent } = sumComparison(comparison.totals)
  if (recent.compared < minCompared || recent.equal >= minEqual * recent.compared) return null
  const differing = recent.compared - recent.equal
  const rows = comparison.rows.filter((row) => row.recent > 0)
  const cause = `${formatShare(differing, recent.compared)} of the answers of the candidate differ from those of the primary (${differing} of ${recent.compared} compared in the last 5 minutes): ${placesPhrase(rows, comparison.others > 0)}`
  const since = Math.min(...rows.map(({ firstAt }) => firstAt))
  const options = { since: Number.isFinite(since) ? since : null, command: `lender-gateway shift report ${group}` }
  return createFinding('warning', `upstreams.${group}.candidate`, cause, options)
}

/** Names how the answers differ, the worst first. `hasOthers`: also in ways that have no row. */
const placesPhrase = (rows: readonly DifferenceRow[], hasOthers: boolean): string => {
  if (rows.length === 0) return unknownPlaces
  const places = rows.slice(0, maxPlaces).map((row) => `${row.operation} ${describePlace(row)} in ${row.recent}`)
  return `${places.join(', ')}${describeMore(hasOthers ? null : rows.length - maxPlaces)}`
}
