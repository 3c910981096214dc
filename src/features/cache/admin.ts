import type { PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import { fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { cacheMetrics } from './metrics.ts'
import { cacheField } from './status.ts'

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: cacheMetrics }]

declare module '../../core/admin/api/status.ts' {
  interface Status {
    readonly cache: Shown<typeof cacheField>
  }
}

export const status: readonly PlacedStatus[] = [
  { before: 'operations', key: 'cache', field: fromReport('cache', cacheField) },
]
