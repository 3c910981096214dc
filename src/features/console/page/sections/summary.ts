import type { Overview } from '../../../../core/admin/api/overview.ts'
import { type Html, type HtmlValue, html } from '../../../../core/admin/html.ts'
import { badge, commandLinks, sinceHtml, timeHtml } from '../../../../core/admin/page-components.ts'
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
  // A gateway that serves is not well while requests fail.
  const isDoubtful = serving.tone === 'good' && critical > 0
  return html`<section id="summary" aria-labelledby="summary-heading">
<h1 id="summary-heading" class="unseen">lender gateway</h1>
<ul class="facts">
<li>${isDoubtful ? html`${badge('warning', 'serving')}, but <a href="#findings">${critical} critical</a>` : html`${stateBadge(serving)}${notReady === null && html`, ready`}`}</li>
<li>version <b>${version}</b></li>
<li>up <b>${formatAge(uptimeSeconds * 1000)}</b></li>
<li>configuration <a href="/configuration"><code>${config.hash}</code></a> by ${config.orderedBy ?? config.loadedBy}, since ${sinceHtml(at, config.loadedAt)}</li>
${config.fileDiffers && html`<li>${badge('warning', 'the file says something else')}${differingFiles(config)}${config.nextTry !== null && html`, tried again at ${timeHtml(at, config.nextTry)}`}</li>\n`}${retiring > 0 && html`<li>${retiring === 1 ? '1 earlier configuration still finishes' : `${retiring} earlier configurations still finish`} requests</li>\n`}</ul>
<p class="actions">${commandLinks('summary', config)}</p>
</section>`
}

/** Names the files that differ, unless it is the file itself alone. */
const differingFiles = ({ path, differingFiles: files }: Overview['status']['config']): HtmlValue =>
  (files ?? []).some((each) => each !== path) &&
  html`: ${files?.map((each, i) => html`${i > 0 && ', '}<code>${each}</code>`)}`
