import type { AdminReport } from '../../core/admin/admin-part.ts'
import { getShadowReport } from './status/shadow-report.ts'

export const reports: readonly AdminReport[] = [{ path: '/shadow', respond: getShadowReport }]
