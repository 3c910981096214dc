import { isOrder } from '../../../shared/command.ts'
import type { Finding } from '../../findings/finding.ts'
import type { Overview } from '../../overview.ts'
import { type Html, html } from '../html.ts'
import { type Mood, mark } from '../marks.ts'
import { section } from '../table.ts'
import { since } from '../words.ts'

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
