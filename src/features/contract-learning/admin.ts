import type { AdminReport } from '../../core/admin/admin-part.ts'
import { getContractDraft } from './status.ts'

export const reports: readonly AdminReport[] = [{ path: '/contract/draft', respond: getContractDraft }]
