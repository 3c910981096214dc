import type { Overview, PagePart } from '../../../../core/admin/admin-part.ts'
import { pluralize, sinceStart } from '../../../../core/admin/commands/phrases.ts'
import { type Html, type HtmlValue, html } from '../../../../core/admin/html.ts'
import {
  type BadgeTone,
  badge,
  commandLinks,
  formatCount,
  htmlList,
  htmlSection,
  sinceHtml,
  timeHtml,
} from '../../../../core/admin/page-components.ts'
import { expiryWarningDays } from '../../../../core/lib/certificate-expiry.ts'
import { formatAge } from '../../../../core/lib/text/units.ts'
import { stateBadge, toRowState } from '../row-state.ts'

export const summarySection = ({ at, status }: Overview): Html => {
  const { state, notReady, version, config, uptimeSeconds, retiring, findings } = status
  const critical = findings.filter(({ severity }) => severity === 'critical').length
  const serving = toRowState({
    well: 'serving',
    isProven: true,
    dead: state === 'not serving' ? state : notReady === null || state === 'draining' ? null : `not ready: ${notReady}`,
    partly: state === 'draining' ? 'draining' : null,
  })
  // A serving gateway is doubtful while requests fail.
  const isDoubtful = serving.tone === 'good' && critical > 0
  return html`<section id="summary" aria-labelledby="summary-heading">
<h1 id="summary-heading" class="unseen">lender gateway</h1>
<ul class="facts">
<li>${isDoubtful ? html`${badge('warning', 'serving')}, but <a href="#findings">${critical} critical</a>` : html`${stateBadge(serving)}${notReady === null && html`, ready`}`}</li>
<li>version <b>${version}</b></li>
<li>up <b>${formatAge(uptimeSeconds * 1000)}</b></li>
<li>configuration <a href="/configuration"><code>${config.hash}</code></a> by ${config.requestedBy ?? config.loadedBy}, since ${sinceHtml(at, config.loadedAt)}</li>
${config.fileDiffers && html`<li>${badge('warning', 'the file is not in effect')}${differingFiles(config)}${config.nextTry !== null && html`, tried again at ${timeHtml(at, config.nextTry)}`}</li>\n`}${retiring > 0 && html`<li>${retiring === 1 ? '1 earlier configuration still finishes' : `${retiring} earlier configurations still finish`} requests</li>\n`}</ul>
<p class="actions">${commandLinks('summary', config)}</p>
</section>`
}

/** Nothing if only the file itself differs. */
const differingFiles = ({ path, differingFiles: files }: Overview['status']['config']): HtmlValue =>
  (files ?? []).some((each) => each !== path) &&
  html`: ${files?.map((each, i) => html`${i > 0 && ', '}<code>${each}</code>`)}`

export const processesSection = (view: Overview, rows: readonly NonNullable<PagePart['processRows']>[]): Html =>
  htmlSection(
    'workers',
    'Processes',
    htmlList([
      ['Node', `${view.status.node}, process ${view.status.pid}`],
      ...rows.flatMap((ofFeature) => ofFeature(view)),
    ]),
  )

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
