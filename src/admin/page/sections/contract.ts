import { formatShare } from '../../../units.ts'
import type { ContractStatus, DriftRowView } from '../../api/contract-report.ts'
import type { Overview } from '../../api/overview.ts'
import { badge, htmlSection, htmlTable, timeHtml } from '../components.ts'
import { formatCount } from '../format.ts'
import { type Html, type HtmlValue, html } from '../html.ts'

/** Renders how the contract is kept: its modes, how many messages break it, and where. Nothing without a contract. */
export const contractSection = ({ at, status: { contract }, drift }: Overview): Html =>
  contract === null
    ? html`<section id="contract" hidden></section>`
    : htmlSection('contract', 'Contract', html`${messagesTable(contract)}${driftTable(at, contract, drift)}`)

interface MessagesRow {
  readonly operation: string
  readonly line: number | null
  readonly direction: 'request' | 'response'
  readonly counts: ContractStatus['operations'][string]['request']
}

const messagesTable = ({ file, operations }: ContractStatus): Html => {
  const rows = Object.entries(operations).flatMap(([operation, { line, request, response }]): MessagesRow[] => [
    { operation, line, direction: 'request', counts: request },
    { operation, line, direction: 'response', counts: response },
  ])
  return htmlTable<MessagesRow>({
    id: 'contract-table',
    caption: html`Messages since <span class="url">${file}</span> was loaded`,
    idOf: ({ operation, direction }) => `contract-${operation}-${direction}`,
    bodies: [{ rows: rows.filter(({ counts }) => counts.mode !== 'off') }],
    columns: [
      { title: 'Operation', cell: ({ operation, direction }) => html`<b>${operation}</b> ${direction}s` },
      { title: 'Mode', cell: modeCell },
      { title: 'Checked', kind: 'number', cell: ({ counts }) => formatCount(counts.checked) },
      { title: 'Broken', kind: 'number', cell: ({ counts }) => brokenCell(counts) },
      { title: 'Rejected', kind: 'number', cell: ({ counts }) => formatCount(counts.rejected) },
      {
        title: 'Unchecked',
        kind: 'number',
        cell: ({ counts }) => formatCount(Object.values(counts.unchecked).reduce((sum, count) => sum + count, 0)),
      },
    ],
  })
}

const modeCell = ({ line, counts: { mode } }: MessagesRow): Html =>
  line === null
    ? badge('warning', `${mode}, but not in the contract`)
    : html`${badge(mode === 'enforce' ? 'good' : 'notice', mode)} <span class="age">line ${line}</span>`

const brokenCell = ({ broken, checked }: MessagesRow['counts']): HtmlValue =>
  broken === 0
    ? '0'
    : html`<strong>${formatCount(broken)}</strong> <span class="age">${formatShare(broken, checked)}</span>`

const driftTable = (at: string, contract: ContractStatus, drift: readonly DriftRowView[]): Html =>
  drift.length === 0
    ? html`<p class="fine">${badge('good', 'Nothing breaks it.')}</p>`
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

const shareCell = ({ operations }: ContractStatus, { operation, direction, count }: DriftRowView): Html =>
  html`${formatCount(count)} <span class="age">${formatShare(count, operations[operation]?.[direction].checked ?? count)}</span>`
