import type { GroupRows } from '../../core/admin/admin-part.ts'
import type { UpstreamStatus } from '../../core/runtime/status/upstreams.ts'

const renderBudget = ({ left }: NonNullable<UpstreamStatus['retryBudget']>): string =>
  left < 1 ? 'USED UP: nothing is retried' : `${Math.floor(left)} ${left < 2 ? 'retry' : 'retries'} left`

export const groupRows: GroupRows = (_, { retryBudget }) =>
  retryBudget === null ? [] : [['', 'retry budget', '', '', renderBudget(retryBudget)]]
