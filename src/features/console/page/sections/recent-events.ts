import type { Overview } from '../../../../core/admin/admin-part.ts'
import { describeUnmatched, type RecentErrorView } from '../../../../core/admin/api/recent-errors.ts'
import { truncate } from '../../../../core/admin/commands/phrases.ts'
import { type Html, type HtmlValue, html } from '../../../../core/admin/html.ts'
import {
  type BadgeTone,
  badge,
  formatCounted,
  htmlSection,
  htmlTable,
  timeHtml,
} from '../../../../core/admin/page-components.ts'
import type { ConfigChange } from '../../../../core/config/diff/diff-values.ts'
import type { ConfigProblem } from '../../../../core/config/problem.ts'
import type { CommandView, ReloadView } from '../../../overview/overview.ts'

export const recentErrorsSection = ({ at, rejections }: Overview): Html =>
  htmlSection(
    'rejections',
    'Rejected requests',
    rejections.length === 0
      ? 'None since the start.'
      : html`<div class="box" role="region" aria-label="The last rejected requests" tabindex="0">${htmlTable<RecentErrorView>(
          {
            id: 'rejections-table',
            caption: 'The last of them, the newest first',
            idOf: ({ at, requestId }) => `rejection-${at}-${requestId}`,
            bodies: [{ rows: rejections }],
            columns: [
              { title: 'When', cell: (entry) => timeHtml(at, entry.at) },
              { title: 'Status', cell: ({ status, kind }) => html`<b>${status}</b> ${kind}` },
              { title: 'Operation', cell: (entry) => entry.operation ?? describeUnmatched(entry) },
              {
                title: 'Why',
                kind: 'wide',
                cell: ({ reason, endpoint }) =>
                  html`${reason}${endpoint !== null && html` <span class="age">at <span class="url">${endpoint}</span></span>`}`,
              },
              {
                title: 'Client',
                cell: ({ client, clientId }) => html`${clientId !== null && html`<b>${clientId}</b> `}${client}`,
              },
              {
                title: 'Request',
                cell: ({ requestId, traceId }) =>
                  html`<code class="request-id">${requestId}</code>${traceId !== null && html` <span class="age">trace <code>${traceId}</code></span>`}`,
              },
            ],
          },
        )}</div>`,
  )

const badgeTones: Readonly<Record<ReloadView['result'], BadgeTone>> = {
  applied: 'good',
  unchanged: 'off',
  rejected: 'bad',
}
const shownEntries = 3
const maxEntries = 50

export const reloadsSection = ({ at, reloads, status: { warnings } }: Overview): Html =>
  htmlSection(
    'reloads',
    'Reloads',
    warnings.length + reloads.length === 0
      ? 'None since the start.'
      : html`${warnings.length > 0 && html`<div class="doubts">${badge('warning', 'doubtful in the running configuration')}${foldedList('doubts', warnings, problemItem, 'doubt')}</div>`}${reloadsTable(at, reloads)}`,
  )

const reloadsTable = (at: string, reloads: readonly ReloadView[]): Html =>
  reloads.length === 0
    ? html`<p>None since the start.</p>`
    : htmlTable<ReloadView>({
        id: 'reloads-table',
        caption: 'The last 20, the newest first',
        idOf: ({ at, trigger }) => `reload-${at}-${trigger}`,
        isBad: ({ result }) => result === 'rejected',
        bodies: [{ rows: reloads }],
        columns: [
          { title: 'When', cell: (reload) => timeHtml(at, reload.at) },
          {
            title: 'By',
            cell: ({ trigger, by }) => (by === null ? trigger : html`${by} <span class="age">${trigger}</span>`),
          },
          { title: 'Result', cell: ({ result, held }) => badge(badgeTones[result], held ? 'held back' : result) },
          { title: 'Runs', cell: ({ hash }) => html`<code>${hash}</code>` },
          { title: 'What', kind: 'wide', cell: reloadDetails },
        ],
      })

export const commandsSection = ({ at, commands }: Overview): Html =>
  htmlSection(
    'commands',
    'Commands',
    commands.length === 0
      ? html`<p>None since the start.</p>`
      : foldedList('commands-more', commands, (command) => commandItem(at, command), 'command'),
  )

const commandItem = (at: string, command: CommandView): Html =>
  html`<li>${timeHtml(at, command.at)} <b>${command.by}</b>: ${command.text}</li>`

const reloadDetails = ({ at, changes, problems }: ReloadView): HtmlValue => [
  foldedList(`reload-${at}-changes`, changes, changeItem, 'change'),
  foldedList(`reload-${at}-problems`, problems, problemItem, 'problem'),
]

const foldedList = <Each>(id: string, all: readonly Each[], render: (each: Each) => Html, one: string): HtmlValue => {
  if (all.length === 0) return null
  const others = all.slice(shownEntries, maxEntries)
  return html`<ul class="whats">${all.slice(0, shownEntries).map(render)}</ul>${
    others.length > 0 &&
    html`<details id="${id}"><summary>${formatCounted(all.length - shownEntries, `more ${one}`)}</summary><ul class="whats">${others.map(render)}${all.length > maxEntries && html`<li>and ${all.length - maxEntries} more</li>`}</ul></details>`
  }`
}

/** Equal texts stand for different secrets. */
const changeItem = ({ path, from, to }: ConfigChange): Html =>
  JSON.stringify(from) === JSON.stringify(to)
    ? html`<li><code>${path}</code>: changed, not shown</li>`
    : html`<li><code>${path}</code>: <code>${formatValue(from)}</code> → <code>${formatValue(to)}</code></li>`

const problemItem = ({ file, line, column, path, message, expected, found, hint }: ConfigProblem): Html =>
  html`<li><code>${file}:${line}:${column}</code> ${path !== '' && html`<code>${path}</code> `}<b>${message}</b>; expected ${expected}; found ${found}${hint !== undefined && html`; ${hint}`}</li>`

const formatValue = (each: unknown): string =>
  each === null || each === undefined
    ? 'not set'
    : truncate(typeof each === 'string' ? each : JSON.stringify(each), 160)
