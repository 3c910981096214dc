import type { Overview } from '../../../../core/admin/admin-part.ts'
import { isMutatingCommand } from '../../../../core/admin/commands/command-groups.ts'
import { type FindingView, type Severity, severities } from '../../../../core/admin/findings/finding.ts'
import { type Html, type HtmlValue, html } from '../../../../core/admin/html.ts'
import { badge, commandHtml, formatCounted, htmlSection, sinceHtml } from '../../../../core/admin/page-components.ts'
import { groupByKey, type NonEmpty } from '../../../../core/log/sum-reports.ts'
import { severityTones } from '../row-state.ts'

/** Notices stand apart: rejected requests of strangers, and past problems. */
export const findingsSection = ({ at, status: { findings } }: Overview): Html => {
  const wrong = findings.filter(({ severity }) => severity !== 'notice')
  const notices = findings.filter(({ severity }) => severity === 'notice')
  return htmlSection(
    'findings',
    'What is wrong',
    html`${
      wrong.length === 0
        ? nothingWrong(notices)
        : groupByKey(wrong, ({ about }) => toSubject(about).id).map((same) => subjectPart(at, same))
    }${notices.length > 0 && noticesPart(at, notices)}`,
    findings.length > 0 && html`<p class="counts">${severityCounts(findings)}</p>`,
  )
}

// Not green beside notices: a client's fault may reject each request of an operation.
const nothingWrong = (notices: readonly FindingView[]): Html =>
  notices.length === 0
    ? html`<p class="fine">${badge('good', 'Nothing is wrong.')}</p>`
    : html`<p class="fine">Nothing is critical, and there is no warning.</p>`

const severityCounts = (findings: readonly FindingView[]): HtmlValue =>
  severities.map((severity) => {
    const count = findings.filter((each) => each.severity === severity).length
    return count > 0 && html`${badge(severityTones[severity], countText[severity](count))} `
  })

const countText: Readonly<Record<Severity, (count: number) => string>> = {
  critical: (count) => `${count} critical`,
  warning: (count) => formatCounted(count, 'warning'),
  notice: (count) => `${count} worth knowing`,
}

const toSubject = (about: string): { readonly id: string; readonly kind: string; readonly name: string | null } => {
  const [, part, name] = /^(upstreams|operations)\.([\w-]+(?:\.[\w-]+)?)/.exec(about) ?? []
  if (part === 'operations' && name !== undefined) return { id: `operations-${name}`, kind: 'Operation', name }
  const [group] = name?.split('.') ?? []
  if (part === 'upstreams' && group !== undefined) return { id: `upstreams-${group}`, kind: 'Upstream', name: group }
  if (about === 'clients') return { id: about, kind: 'Clients', name: null }
  return { id: 'gateway', kind: 'The gateway itself', name: null }
}

const subjectPart = (at: string, same: NonEmpty<FindingView>): Html => {
  const [{ severity, about }] = same
  const { id, kind, name } = toSubject(about)
  return html`<div id="broken-${id}" class="broken ${severity}">
<h3>${badge(severityTones[severity], severity)} ${kind}${name !== null && html` <b>${name}</b>`}</h3>
<ol class="findings">${same.map((each) => findingItem(at, each, name === null || !isNamedBy(each, name), each.severity !== severity))}</ol>
</div>
`
}

const isNamedBy = ({ about }: FindingView, name: string): boolean =>
  about === `upstreams.${name}` || about === `operations.${name}`

const noticesPart = (at: string, notices: readonly FindingView[]): Html => html`<div id="notices" class="broken notice">
<h3>${badge('notice', 'Worth knowing')}</h3>
<ol class="findings">${notices.map((each) => findingItem(at, each, true, false))}</ol>
</div>
`

const findingItem = (
  at: string,
  { severity, about, cause, details, since, command }: FindingView,
  isNamed: boolean,
  hasBadge: boolean,
): Html => html`
<li data-about="${about}" data-severity="${severity}">
<p class="cause">${hasBadge && html`${badge(severityTones[severity], severity)} `}${isNamed && !cause.startsWith(about) && html`<b>${about}</b> `}<span class="words">${cause}</span></p>
${details.length > 0 && html`<ul class="details">${details.map((each) => html`<li>${each}</li>`)}</ul>\n`}<p class="more">${since !== null && html`<span>since ${sinceHtml(at, since)}</span> `}${command !== null && html`<span>${isMutatingCommand(command) ? 'to do:' : 'next:'}</span> ${commandHtml(command)}`}</p>
</li>`
