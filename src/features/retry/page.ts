import { type Html, html } from '../../core/admin/html.ts'
import { formatCounted } from '../../core/admin/page-components.ts'
import type { UpstreamStatus } from '../../core/runtime/status/upstreams.ts'
import type { Side } from '../../operations.ts'

export const sideFact = ({ retryBudget }: UpstreamStatus, side: Side): Html | null =>
  side === 'primary' && retryBudget !== null
    ? html`, ${retryBudget.left < 1 ? html`<strong>no retries left</strong>` : `${formatCounted(Math.floor(retryBudget.left), 'retry', 'retries')} left`}`
    : null
