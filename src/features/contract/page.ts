import type { Overview, PlacedSection } from '../../core/admin/admin-part.ts'
import { type Html, type HtmlValue, html } from '../../core/admin/html.ts'
import {
  badge,
  formatCount,
  htmlSection,
  htmlTable,
  type TableColumn,
  timeHtml,
} from '../../core/admin/page-components.ts'
import { formatShare } from '../../core/lib/text/units.ts'
import { sum } from '../../core/log/sum-reports.ts'
import { type ContractStatus, type DriftRowView, wasChecked } from './status.ts'

interface LearningWords {
  readonly none?: string
  readonly paragraph?: HtmlValue
  readonly links?: HtmlValue
}

export const contractSection = (
  { at, status: { contract }, drift }: Overview,
  { none = 'None is configured.', paragraph = null, links = null }: LearningWords = {},
): Html =>
  htmlSection(
    'contract',
    'Contract',
    contract === null && paragraph === null
      ? none
      : html`${paragraph}${contract !== null && driftTable(at, contract, drift)}${contract !== null && messagesTable(at, contract)}`,
    links,
  )

export const pageSections: readonly PlacedSection[] = [
  { before: 'rejections', name: 'contract', link: 'Contract', render: (view) => contractSection(view) },
]

type ContractOperation = ContractStatus['operations'][string]

interface MessagesRow extends ContractOperation {
  readonly operation: string
}

const messagesTable = (at: string, { file, countedSince, operations }: ContractStatus): Html => {
  const rows = Object.entries(operations).map(([operation, counts]): MessagesRow => ({ operation, ...counts }))
  return htmlTable<MessagesRow>({
    id: 'contract-table',
    caption: html`Messages since ${countedSince !== null && html`${timeHtml(at, countedSince)}, when `}<span class="url">${file}</span> was loaded`,
    idOf: ({ operation }) => `contract-${operation}`,
    bodies: [{ rows: rows.filter(({ request, response }) => request.mode !== 'off' || response.mode !== 'off') }],
    columns: [
      { title: 'Operation', cell: operationCell },
      ...messagesColumns('Requests', 'request'),
      ...messagesColumns('Responses', 'response'),
    ],
  })
}

const messagesColumns = (title: string, direction: 'request' | 'response'): readonly TableColumn<MessagesRow>[] => [
  { title, cell: (row) => modeBadge(row.line, row[direction]) },
  { title: 'Checked', kind: 'number', cell: (row) => formatCount(row[direction].checked) },
  { title: 'Broken', kind: 'number', cell: (row) => brokenCell(row[direction]) },
  { title: 'Unchecked', kind: 'number', cell: (row) => formatCount(sum(Object.values(row[direction].unchecked))) },
]

const operationCell = ({ operation, line }: MessagesRow): Html =>
  html`<b>${operation}</b> ${line === null ? badge('warning', 'not in the contract') : html`<span class="age">line ${line}</span>`}`

const modeBadge = (line: number | null, { mode }: Messages): Html =>
  badge(mode === 'off' || line === null ? 'off' : 'notice', mode) // what is switched, and not how it goes

const brokenCell = ({ broken, checked, rejected }: Messages): HtmlValue =>
  broken === 0
    ? '0'
    : html`<strong>${formatCount(broken)}</strong> <span class="age">${formatShare(broken, checked)}${rejected > 0 && `, ${formatCount(rejected)} rejected`}</span>`

type Messages = ContractOperation['request']

const driftTable = (at: string, contract: ContractStatus, drift: readonly DriftRowView[]): Html =>
  drift.length === 0
    ? html`<p class="fine">${wasChecked(contract) ? badge('good', 'Nothing breaks it.') : badge('off', 'Nothing was checked yet.')}</p>`
    : htmlTable<DriftRowView>({
        id: 'drift-table',
        caption: 'Where it is broken, the worst of the last five minutes first',
        idOf: ({ operation, direction, in: place, pointer, rule }) =>
          `drift-${operation}-${direction}-${place}-${pointer}-${rule}`,
        isBad: ({ recent }) => recent > 0,
        bodies: [{ rows: drift }],
        columns: [
          { title: 'Operation', cell: ({ operation, direction }) => html`<b>${operation}</b> ${direction}s` },
          {
            title: 'Where',
            kind: 'wide',
            cell: ({ in: place, pointer, rule, detail }) =>
              html`${place} <code>${pointer}</code> ${rule} <span class="age">${detail}</span>`,
          },
          { title: 'Messages', kind: 'number', cell: (row) => shareCell(contract, row) },
          { title: 'In 5 min', kind: 'number', cell: ({ recent }) => formatCount(recent) },
          { title: 'Since', cell: ({ firstAt }) => timeHtml(at, firstAt) },
          {
            title: 'Last',
            cell: ({ lastAt, client, endpoint, requestId }) =>
              html`${timeHtml(at, lastAt)} of ${client}${endpoint !== null && html` <span class="age">at <span class="url">${endpoint}</span></span>`}${requestId !== null && html` <span class="age"><code>${requestId}</code></span>`}`,
          },
        ],
      })

const shareCell = ({ operations }: ContractStatus, { operation, direction, count }: DriftRowView): Html => {
  const checked = Object.hasOwn(operations, operation) ? operations[operation]?.[direction].checked : undefined
  return html`${formatCount(count)} <span class="age">${formatShare(count, checked ?? count)}</span>`
}
