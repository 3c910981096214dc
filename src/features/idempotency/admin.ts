import type { PlacedFindings, PlacedMetrics } from '../../core/admin/admin-part.ts'
import { idempotencyFindings } from './findings.ts'
import { idempotencyMetrics } from './metrics.ts'

export const findings: readonly PlacedFindings[] = [{ before: 'credentials', value: idempotencyFindings }]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: idempotencyMetrics }]
