import type { PlacedFindings, PlacedMetrics } from '../../core/admin/admin-part.ts'
import { limitFindings } from './findings.ts'
import { limitMetrics } from './metrics.ts'

export const findings: readonly PlacedFindings[] = [{ after: 'operations', value: limitFindings }]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: limitMetrics }]
