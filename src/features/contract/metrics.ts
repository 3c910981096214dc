import { type MetricDefinitions, seriesFor } from '../../core/admin/metrics/metric.ts'
import type { MetricInputs } from '../../core/admin/metrics/metric-inputs.ts'
import { allOperations, type OperationId } from '../../operations.ts'
import { type MessageDirection, messageDirections } from './drift-report.ts'

type Outcome = 'kept' | 'broken' | 'rejected' | 'unchecked'

const outcomes = ({ config, report: { drift } }: MetricInputs) =>
  allOperations.flatMap(({ id }) =>
    config.compiledContract?.operations[id] === undefined
      ? []
      : messageDirections
          .filter((direction) => config.operations[id].contract[direction] !== 'off')
          .flatMap((direction) =>
            Object.entries(countOutcomes(drift, id, direction)).map(
              ([outcome, count]) => [id, direction, outcome, count] as const,
            ),
          ),
  )

/** Counts by outcome, so that every message is one of them. */
const countOutcomes = (
  drift: MetricInputs['report']['drift'],
  id: OperationId,
  messages: MessageDirection,
): Readonly<Record<Outcome, number>> => {
  const totals = drift?.totals.find(({ operation, direction }) => operation === id && direction === messages)
  if (totals === undefined) return { kept: 0, broken: 0, rejected: 0, unchecked: 0 }
  const { checked, broken, rejected, unchecked } = totals
  return {
    kept: checked - broken,
    broken: broken - rejected,
    rejected,
    unchecked: Object.values(unchecked).reduce((sum, count) => sum + count, 0),
  }
}

/** No series for what is not held to it. */
export const contractMetrics: MetricDefinitions = {
  contract_messages_total: seriesFor(['operation', 'direction', 'outcome'], outcomes).counter(
    'Messages that were held to the contract: those that kept it, broke it and passed (broken), broke it and were rejected, or had a body that was not read (unchecked).',
  ),
}
