import type { PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import { fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { limitFindings } from './findings.ts'
import { limitMetrics } from './metrics.ts'
import { limitsField } from './status.ts'

export const findings: readonly PlacedFindings[] = [{ after: 'operations', value: limitFindings }]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: limitMetrics }]

declare module '../../core/admin/api/status.ts' {
  interface Status {
    readonly limits: Shown<typeof limitsField>
  }
}

export const status: readonly PlacedStatus[] = [
  { after: 'upstreams', key: 'limits', field: fromReport('limits', limitsField) },
]
