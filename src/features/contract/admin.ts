import type { AdminReport } from '../../core/admin/admin-part.ts'
import { getContractReport } from './status.ts'

export const reports: readonly AdminReport[] = [{ path: '/contract', respond: getContractReport }]
