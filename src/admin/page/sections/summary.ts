import { isOrder } from '../../../shared/command.ts'
import type { Finding } from '../../findings/finding.ts'
import type { Overview } from '../../overview.ts'
import { type Html, html } from '../html.ts'
import { age, links, type Mood, mark, moment, section, since } from '../parts.ts'

/** Says in a line how it stands: whether it serves, what it runs and since when. */
export const summary = ({ at, status }: Overview): Html => {
  const { state, notReady, version, config, uptimeSeconds, retiring } = status
  return html`<section id="summary" aria-labelledby="summary-heading">
<h1 id="summary-heading" class="unseen">lender gateway</h1>
<ul class="facts">
<li>${mark(state === 'serving' ? 'good' : state === 'draining' ? 'warning' : 'bad', state)}</li>
<li>${mark(notReady === null ? 'good' : 'bad', notReady === null ? 'ready' : `not ready: ${notReady}`)}</li>
<li>version <b>${version}</b></li>
<li>up <b>${age(uptimeSeconds * 1000)}</b></li>
<li>configuration <code>${config.hash}</code> by ${config.loadedBy}, since ${since(at, config.loadedAt)}</li>
${config.fileDiffers && html`<li>${mark('warning', 'the file says something else')}${config.nextTry !== null && html`, tried again at ${moment(at, config.nextTry)}`}</li>\n`}${retiring > 0 && html`<li>${retiring === 1 ? '1 earlier configuration still finishes' : `${retiring} earlier configurations still finish`} requests</li>\n`}</ul>
<p class="actions">${links('summary', config)}</p>
</section>`
}

const moods: Readonly<Record<Finding['severity'], Mood>> = { critical: 'bad', warning: 'warning', notice: 'notice' }

/** Says what is wrong, in words, the worst first. */
export const findings = ({ at, status }: Overview): Html =>
  section(
    'findings',
    'What is wrong',
    status.findings.length === 0
      ? html`<p class="fine">${mark('good', 'Nothing is wrong.')}</p>`
      : html`<ol class="findings">${status.findings.map((each) => finding(at, each))}</ol>`,
  )

const finding = (at: string, { severity, about, cause, details, since: from, command }: Finding): Html => html`
<li class="${severity}" data-about="${about}">
<p class="cause">${mark(moods[severity], severity)} <b>${about}</b> <span class="words">${cause}</span></p>
<p class="more">${from !== null && html`<span>since ${since(at, from)}</span> `}${command !== null && html`${isOrder(command) && 'to do: '}<code>${command}</code>`}</p>
${details.length > 0 && html`<ul class="details">${details.map((each) => html`<li>${each}</li>`)}</ul>\n`}</li>`
