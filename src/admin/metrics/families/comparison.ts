import { zeroDifferences, zeroUncompared } from '../../../observe/candidate/compare/comparison.ts'
import type { ComparisonTotals } from '../../../observe/candidate/comparison-report.ts'
import { allOperations, type OperationId } from '../../../operations.ts'
import { copiesOf } from '../../../runtime/pipeline/shadow-layer.ts'
import { type MetricDefinitions, seriesOfCounts } from '../metric.ts'
import type { MetricInputs } from '../metric-inputs.ts'

type Counted = Pick<ComparisonTotals, 'compared' | 'equal' | 'byKind' | 'uncompared'>

const nothingCompared: Counted = { compared: 0, equal: 0, byKind: zeroDifferences, uncompared: zeroUncompared }

/** Lists the operations whose answers are compared. */
const listCompared = ({ config, report }: MetricInputs): readonly (readonly [OperationId, Counted])[] =>
  allOperations.flatMap((operation): readonly (readonly [OperationId, Counted])[] => {
    const { id, group } = operation
    const comparison = report.upstreams[group].candidate?.comparison
    const shadow = config.upstreams[group].candidate?.shadow
    if (!comparison || !shadow || copiesOf(operation, shadow) === null) return []
    return [[id, comparison.totals.find((totals) => totals.operation === id) ?? nothingCompared]]
  })

const countsOf = seriesOfCounts('operation', listCompared)

/** The answers of candidates beside those of their primaries. No series for an operation that is not compared. */
export const comparisonMetrics: MetricDefinitions = {
  shadow_compared_total: countsOf('result', ({ compared, equal }) => ({
    equal,
    different: compared - equal,
  })).counter('Answers of a candidate that were compared with those of the primary, by what came of it.'),
  shadow_differences_total: countsOf('kind', ({ byKind }) => byKind).counter(
    'Answers of a candidate that differ, by how; one that differs in several ways counts for each.',
  ),
  shadow_uncompared_total: countsOf('reason', ({ uncompared }) => uncompared).counter(
    'Answers of a candidate that were not compared, by why.',
  ),
}
