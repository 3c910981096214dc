import type { PlacedFindings, PlacedMetrics } from '../../core/admin/admin-part.ts'
import { tracingFindings } from './findings.ts'
import { tracingMetrics } from './metrics.ts'

export const findings: readonly PlacedFindings[] = [{ after: 'configuration', value: tracingFindings }]

export const metrics: readonly PlacedMetrics[] = [{ after: 'recording', value: tracingMetrics }]
