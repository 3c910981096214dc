import type { PlacedFindings, PlacedMetrics } from '../../core/admin/admin-part.ts'
import { auditFindings } from './findings.ts'
import { auditMetrics } from './metrics.ts'

export const findings: readonly PlacedFindings[] = [{ after: 'process', value: auditFindings }]

export const metrics: readonly PlacedMetrics[] = [{ after: 'recording', value: auditMetrics }]
