import type { PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import { fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { idempotencyFindings } from './findings.ts'
import { idempotencyMetrics } from './metrics.ts'
import { idempotencyField } from './status.ts'

export const findings: readonly PlacedFindings[] = [{ before: 'credentials', value: idempotencyFindings }]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: idempotencyMetrics }]

declare module '../../core/admin/api/status.ts' {
  interface Status {
    readonly idempotency: Shown<typeof idempotencyField>
  }
}

export const status: readonly PlacedStatus[] = [
  { before: 'operations', key: 'idempotency', field: fromReport('idempotency', idempotencyField) },
]
