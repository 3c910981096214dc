import type {
  AdminReport,
  PlacedFindings,
  PlacedMetrics,
  PlacedOverview,
  PlacedStatus,
} from '../../core/admin/admin-part.ts'
import type { OverviewInputs } from '../../core/admin/api/overview.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { type MetricDefinitions, seriesFor } from '../../core/admin/metrics/metric.ts'
import type { MetricInputs } from '../../core/admin/metrics/metric-inputs.ts'
import { asList, asNullable } from '../../core/lib/text/decode.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { allOperations, type OperationId } from '../../operations.ts'
import { type MessageDirection, messageDirections } from './drift-report.ts'
import { contractFindings } from './findings.ts'
import {
  type ContractStatus,
  contractShape,
  contractStatus,
  type DriftRowView,
  driftRowShape,
  driftRowViews,
  getContractReport,
} from './status.ts'

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
const contractMetrics: MetricDefinitions = {
  contract_messages_total: seriesFor(['operation', 'direction', 'outcome'], outcomes).counter(
    'Messages that were held to the contract: those that kept it, broke it and passed (broken), broke it and were rejected, or had a body that was not read (unchecked).',
  ),
}

export const reports: readonly AdminReport[] = [{ path: '/contract', respond: getContractReport }]

export const findings: readonly PlacedFindings[] = [{ after: 'operations', value: contractFindings }]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: contractMetrics }]

declare module '../../core/admin/api/status.ts' {
  interface Status {
    /** Null: no contract is configured. */
    readonly contract: ContractStatus | null
  }
}

export const status: readonly PlacedStatus[] = [
  {
    before: 'operations',
    key: 'contract',
    field: derived(asNullable(contractShape), ({ context, report, inputs }: StatusInputs) =>
      contractStatus(inputs.config, context.reloader.file, report.drift),
    ),
  },
]

declare module '../../core/admin/api/overview.ts' {
  interface Overview {
    /** The ten worst ways in which messages broke the contract. */
    readonly drift: readonly DriftRowView[]
  }
}

export const overview: readonly PlacedOverview[] = [
  {
    before: 'clients',
    key: 'drift',
    field: derived(asList(driftRowShape), ({ report }: OverviewInputs) =>
      driftRowViews(report.drift).slice(0, maxRowViews),
    ),
  },
]

// The page shows the worst; /contract has all.
const maxRowViews = 10

export const loadOpenApi = () => import('./openapi.ts')
