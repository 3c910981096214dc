import { isMutatingCommand } from '../../../shared/program-command.ts'
import type { Overview } from '../../api/overview.ts'
import type { Finding } from '../../findings/finding.ts'
import { type BadgeTone, badge, commandLinks, htmlSection, sinceHtml, timeHtml } from '../components.ts'
import { formatAge } from '../format.ts'
import { type Html, type HtmlValue, html } from '../html.ts'

/** Renders the state in a line: whether it serves, and what it runs since when. */
export const summarySection = ({ at, status }: Overview): Html => {
  const { state, notReady, version, config, uptimeSeconds, retiring } = status
  return html`<section id="summary" aria-labelledby="summary-heading">
<h1 id="summary-heading" class="unseen">lender gateway</h1>
<ul class="facts">
<li>${badge(state === 'serving' ? 'good' : state === 'draining' ? 'warning' : 'bad', state)}</li>
<li>${badge(notReady === null ? 'good' : 'bad', notReady === null ? 'ready' : `not ready: ${notReady}`)}</li>
<li>version <b>${version}</b></li>
<li>up <b>${formatAge(uptimeSeconds * 1000)}</b></li>
<li>configuration <code>${config.hash}</code> by ${config.loadedBy}, since ${sinceHtml(at, config.loadedAt)}</li>
${config.fileDiffers && html`<li>${badge('warning', 'the file says something else')}${differingFiles(config)}${config.nextTry !== null && html`, tried again at ${timeHtml(at, config.nextTry)}`}</li>\n`}${retiring > 0 && html`<li>${retiring === 1 ? '1 earlier configuration still finishes' : `${retiring} earlier configurations still finish`} requests</li>\n`}</ul>
<p class="actions">${commandLinks('summary', config)}</p>
</section>`
}

/** Names the files that differ, unless it is the file itself alone. */
const differingFiles = ({ path, differingFiles: files }: Overview['status']['config']): HtmlValue =>
  (files ?? []).some((each) => each !== path) &&
  html`: ${files?.map((each, i) => html`${i > 0 && ', '}<code>${each}</code>`)}`

const badgeTones: Readonly<Record<Finding['severity'], BadgeTone>> = {
  critical: 'bad',
  warning: 'warning',
  notice: 'notice',
}

/** Renders what is wrong, in words, the worst first. */
export const findingsSection = ({ at, status }: Overview): Html =>
  htmlSection(
    'findings',
    'What is wrong',
    status.findings.length === 0
      ? html`<p class="fine">${badge('good', 'Nothing is wrong.')}</p>`
      : html`<ol class="findings">${status.findings.map((each) => findingItem(at, each))}</ol>`,
  )

const findingItem = (at: string, { severity, about, cause, details, since, command }: Finding): Html => html`
<li class="${severity}" data-about="${about}">
<p class="cause">${badge(badgeTones[severity], severity)} <b>${about}</b> <span class="words">${cause}</span></p>
<p class="more">${since !== null && html`<span>since ${sinceHtml(at, since)}</span> `}${command !== null && html`${isMutatingCommand(command) && 'to do: '}<code>${command}</code>`}</p>
${details.length > 0 && html`<ul class="details">${details.map((each) => html`<li>${each}</li>`)}</ul>\n`}</li>`
