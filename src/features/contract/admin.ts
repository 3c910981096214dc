import type { AdminReport, PlacedFindings, PlacedMetrics } from '../../core/admin/admin-part.ts'
import { contractFindings } from './findings.ts'
import { contractMetrics } from './metrics.ts'
import { getContractReport } from './status.ts'

export const reports: readonly AdminReport[] = [{ path: '/contract', respond: getContractReport }]

export const findings: readonly PlacedFindings[] = [{ after: 'operations', value: contractFindings }]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: contractMetrics }]
