import type {
  AdminReport,
  PlacedFindings,
  PlacedMetrics,
  PlacedOverview,
  PlacedStatus,
} from '../../core/admin/admin-part.ts'
import type { OverviewInputs } from '../../core/admin/api/overview.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { asList, asNullable } from '../../core/lib/text/decode.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { contractFindings } from './findings.ts'
import { contractMetrics } from './metrics.ts'
import {
  type ContractStatus,
  contractShape,
  contractStatus,
  type DriftRowView,
  driftRowShape,
  driftRowViews,
  getContractReport,
} from './status.ts'

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
