import type { Change } from '../../../config/diff.ts'
import type { Problem } from '../../../config/problem.ts'
import type { Overview, RefusalView, ReloadView } from '../../overview.ts'
import { type Html, html, type Shown } from '../html.ts'
import { counted, cut, type Mood, mark, moment, section, table } from '../parts.ts'

/** Tells of the requests that were refused last, each with its reason. */
export const refusals = ({ at, refusals }: Overview): Html =>
  section(
    'refusals',
    'Refused requests',
    refusals.length === 0
      ? html`<p>None since the start.</p>`
      : html`<div class="box" role="region" aria-labelledby="refusals-heading" tabindex="0">${table<RefusalView>({
          id: 'refusals-table',
          caption: 'The last of them, the newest first',
          idOf: ({ at, requestId }) => `refusal-${at}-${requestId}`,
          bodies: [{ rows: refusals }],
          columns: [
            { title: 'When', cell: (refusal) => moment(at, refusal.at) },
            { title: 'Status', cell: ({ status, kind }) => html`<b>${status}</b> ${kind}` },
            { title: 'Operation', cell: target },
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
                html`<code>${requestId}</code>${traceId !== null && html` <span class="age">trace <code>${traceId}</code></span>`}`,
            },
          ],
        })}</div>`,
  )

const target = ({ operation, method }: RefusalView): Shown =>
  operation ?? (method === null ? 'could not be read' : html`${method} to none of the nine`)

const moods: Readonly<Record<ReloadView['result'], Mood>> = { applied: 'good', unchanged: 'off', refused: 'bad' }
const shown = 3
const mostOfList = 50

/** Tells what came of each reload, what changed or was refused and where that stands, and what in what runs is doubtful. */
export const reloads = ({ at, reloads, status: { warnings } }: Overview): Html =>
  section(
    'reloads',
    'Reloads',
    html`${warnings.length > 0 && html`<div class="doubts">${mark('warning', 'doubtful in what runs')}${listed('doubts', warnings, problem, 'doubt')}</div>`}${last(at, reloads)}`,
  )

const last = (at: string, reloads: readonly ReloadView[]): Html =>
  reloads.length === 0
    ? html`<p>None since the start.</p>`
    : table<ReloadView>({
        id: 'reloads-table',
        caption: 'The last 20, the newest first',
        idOf: ({ at, trigger }) => `reload-${at}-${trigger}`,
        isBad: ({ result }) => result === 'refused',
        bodies: [{ rows: reloads }],
        columns: [
          { title: 'When', cell: (reload) => moment(at, reload.at) },
          { title: 'By', cell: ({ trigger }) => trigger },
          {
            title: 'Result',
            cell: ({ result, held }) => mark(moods[result], held ? 'held back' : result),
          },
          { title: 'Runs', cell: ({ hash }) => html`<code>${hash}</code>` },
          { title: 'What', kind: 'wide', cell: what },
        ],
      })

const what = ({ at, changes, problems }: ReloadView): Shown => [
  listed(`reload-${at}-changes`, changes, change, 'change'),
  listed(`reload-${at}-problems`, problems, problem, 'problem'),
]

/** Lists the first few, and the others for whoever wants to know. */
const listed = <Each>(id: string, all: readonly Each[], written: (each: Each) => Html, one: string): Shown => {
  if (all.length === 0) return null
  const others = all.slice(shown, mostOfList)
  return html`<ul class="whats">${all.slice(0, shown).map(written)}</ul>${
    others.length > 0 &&
    html`<details id="${id}"><summary>${counted(all.length - shown, `more ${one}`)}</summary><ul class="whats">${others.map(written)}${all.length > mostOfList && html`<li>and ${all.length - mostOfList} more</li>`}</ul></details>`
  }`
}

const change = ({ path, from, to }: Change): Html =>
  html`<li><code>${path}</code>: <code>${value(from)}</code> → <code>${value(to)}</code></li>`

const problem = ({ file, line, column, path, message, expected, found, hint }: Problem): Html =>
  html`<li><code>${file}:${line}:${column}</code> ${path !== '' && html`<code>${path}</code> `}<b>${message}</b>; expected ${expected}; found ${found}${hint !== undefined && html`; ${hint}`}</li>`

const value = (each: unknown): string =>
  each === null || each === undefined ? 'not set' : cut(typeof each === 'string' ? each : JSON.stringify(each), 160)
