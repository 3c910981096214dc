import type { PagePart } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { html } from '../../core/admin/html.ts'
import { type BadgeTone, badge, formatCount, formatCounted, sinceHtml } from '../../core/admin/page-components.ts'

export const processRows: Required<PagePart>['processRows'] = ({ at, status }) =>
  status.workers.map(({ worker, pid, state, startedAt, restarts, inFlight, config }) => {
    const tone: BadgeTone = state === 'serving' ? 'good' : state === 'starting' || state === 'draining' ? 'off' : 'bad'
    return [
      `worker ${worker}`,
      html`${badge(tone, state)}${pid !== null && ` process ${pid}`}${startedAt !== null && html` since ${sinceHtml(at, startedAt)}`}${restarts > 0 && `, ${formatCounted(restarts, 'restart')} ${sinceStart}`}${inFlight !== null && `, ${formatCount(inFlight)} in flight`}${config !== null && config !== status.config.hash && html`, runs <code>${config}</code>`}`,
    ] as const
  })
