import type { AdminReport, PlacedFindings, PlacedMetrics } from '../../core/admin/admin-part.ts'
import { candidateFindings, comparisonFindings } from './findings.ts'
import { candidateMetrics, comparisonMetrics, shadowMetrics } from './metrics.ts'
import { getShadowReport } from './status/shadow-report.ts'

export const reports: readonly AdminReport[] = [{ path: '/shadow', respond: getShadowReport }]

export const findings: readonly PlacedFindings[] = [
  { after: 'upstreams', value: candidateFindings },
  { after: 'upstreams', value: comparisonFindings },
]

export const metrics: readonly PlacedMetrics[] = [
  { after: 'upstreams', value: shadowMetrics },
  { after: 'upstreams', value: comparisonMetrics },
  { after: 'upstreams', value: candidateMetrics },
]
