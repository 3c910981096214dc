import type { PagePart } from '../../../../core/admin/admin-part.ts'
import type { Overview } from '../../../../core/admin/api/overview.ts'
import { pluralize, sinceStart } from '../../../../core/admin/commands/phrases.ts'
import { type Html, html } from '../../../../core/admin/html.ts'
import {
  type BadgeTone,
  badge,
  formatCount,
  formatCounted,
  htmlList,
  htmlSection,
  sinceHtml,
  timeHtml,
} from '../../../../core/admin/page-components.ts'
import { expiryWarningDays } from '../../../../core/lib/text/format-time.ts'
import { type RowState, stateBadge, toRowState } from '../row-state.ts'

type Status = Overview['status']

export const workersSection = ({ at, status }: Overview): Html =>
  htmlSection(
    'workers',
    'Processes',
    htmlList([
      ['Node', `${status.node}, process ${status.pid}`],
      ...status.workers.map(
        ({ worker, pid, state, startedAt, restarts, inFlight, config }) =>
          [
            `worker ${worker}`,
            html`${stateBadge(workerState(state))}${pid !== null && ` process ${pid}`}${startedAt !== null && html` since ${sinceHtml(at, startedAt)}`}${restarts > 0 && `, ${formatCounted(restarts, 'restart')} ${sinceStart}`}${inFlight !== null && `, ${formatCount(inFlight)} in flight`}${config !== null && config !== status.config.hash && html`, runs <code>${config}</code>`}`,
          ] as const,
      ),
    ]),
  )

const workerState = (state: Status['workers'][number]['state']): RowState =>
  toRowState({
    well: state,
    takenOut: state === 'starting' || state === 'draining' ? state : null,
    dead: state === 'serving' ? null : state,
    isProven: true,
  })

/** Renders what is written down. `records`: the rows of features. */
export const recordsSection = (view: Overview, records: readonly Required<PagePart>['recordRow'][]): Html => {
  const { log } = view.status
  return htmlSection(
    'records',
    recordsTitle(records),
    htmlList([
      ...records.map(({ title, cell }) => [title, cell(view)] as const),
      ['Log level', log.level],
      ['Log lines dropped', log.dropped === 0 ? '0' : html`<strong>${formatCount(log.dropped)}</strong> ${sinceStart}`],
    ]),
  )
}

/** `Audit and log`. */
export const recordsTitle = (records: readonly { readonly word: string }[]): string => {
  const words = [...records.map(({ word }) => word), 'log'].join(' and ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

export const certificatesSection = ({ at, status }: Overview): Html =>
  htmlSection(
    'certificates',
    'Certificates',
    status.certificates.length === 0
      ? 'None: neither listener speaks TLS.'
      : htmlList(
          status.certificates.map(({ key, names, notAfter, daysLeft }) => [
            key,
            html`${badge(expiryTone(daysLeft), daysLeft < 0 ? 'expired' : `${pluralize(daysLeft, 'day')} left`)} until ${timeHtml(at, notAfter)} <span class="age">${names.slice(0, 5).join(', ')}</span>`,
          ]),
        ),
  )

const expiryTone = (daysLeft: number): BadgeTone =>
  daysLeft < 0 ? 'bad' : daysLeft < expiryWarningDays ? 'warning' : 'good'
