import type { FindingSubject } from '../../../../core/admin/findings/finding.ts'
import { type Html, type HtmlValue, html } from '../../../../core/admin/html.ts'
import {
  commandLinks,
  formatCount,
  formatMilliseconds,
  formatPerSecond,
  htmlSection,
  htmlTable,
  type TableColumn,
  timeHtml,
} from '../../../../core/admin/page-components.ts'
import { sideKey } from '../../../../core/exchange/sides.ts'
import { sides } from '../../../../operations.ts'
import type { OperationView, PageView } from '../../../overview/overview.ts'
import { isProblem, type RowState, stateBadge, toRowState, worseSeverity, worstFinding } from '../row-state.ts'

interface OperationRow extends OperationView {
  readonly goes: RowState
}

export const operationsSection = ({ at, operations, unmatchedPerSecond, found }: PageView): Html =>
  htmlSection(
    'operations',
    'Operations',
    html`${wholeCharts(operations)}${htmlTable<OperationRow>({
      id: 'operations-table',
      caption: 'The nine: requests a second now, times of the last minute, charts of the last 15',
      idOf: ({ id }) => `operation-${id}`,
      isBad: ({ state, goes }) => isProblem(goes) || state === 'reject',
      bodies: [{ rows: operations.map((each) => ({ ...each, goes: operationState(each, found) })) }],
      columns: [
        {
          title: 'Operation',
          cell: ({ id, method, path }) => html`<b>${id}</b> <span class="target">${method} ${path}</span>`,
        },
        { title: 'State', cell: (row) => stateCell(at, row) },
        paceColumn('Requests/s', 'perSecond', formatPerSecond),
        paceColumn('Errors/s', 'errorsPerSecond', errorRateHtml),
        paceColumn('Rejected/s', 'rejectedPerSecond', formatPerSecond),
        paceColumn('In flight', 'inFlight', formatCount),
        latencyColumn('p50', 'p50Ms'),
        latencyColumn('p99', 'p99Ms'),
        { title: '15 min: requests', kind: 'chart', cell: (operation) => chartCell('rate', operation, peakRate) },
        { title: '15 min: p99', kind: 'chart', cell: (operation) => chartCell('p99', operation, peakLatency) },
        { title: 'Do', kind: 'act', cell: (operation) => commandLinks('operation', operation) },
      ],
    })}${unmatchedParagraph(unmatchedPerSecond)}`,
    html`<p class="legend"><span class="key requests">requests</span> <span class="key errors">errors</span> <span class="key p99">p99</span> <span class="key reload">another configuration took effect</span></p>`,
  )

/** Requests that match no operation are in no row. */
const unmatchedParagraph = (perSecond: number | null): Html | null =>
  perSecond === null || perSecond === 0
    ? null
    : html`<p class="unmatched"><strong>${formatPerSecond(perSecond)}</strong> requests a second are rejected before they come to any of the nine: <a href="#rejections">why</a></p>`

const wholeCharts = (operations: readonly OperationView[]): Html | null =>
  operations.every(({ history }) => history === null)
    ? null
    : html`<div class="whole" aria-hidden="true">${wholeChart('rate', 'Requests and errors a second, all nine')}${wholeChart('p99', 'p99 of the slowest operation, in ms')}</div>`

const wholeChart = (kind: ChartKind, caption: string): Html =>
  html`<figure><figcaption>${caption}, times in UTC</figcaption><div class="chart axes" id="chart-${kind}-all" data-operation="all" data-chart="${kind}"></div></figure>`

type ChartKind = 'rate' | 'p99'

const operationState = (
  { id, group, state, failing, pace }: OperationView,
  findings: readonly FindingSubject[],
): RowState =>
  toRowState({
    well: 'serves',
    takenOut: state === 'reject' ? 'rejected' : null,
    dead: failing ? 'fails' : null,
    requests: pace && { all: pace.perSecond, failed: pace.errorsPerSecond, rejected: pace.rejectedPerSecond },
    doubt: findings.find(keepsRequestsOut)?.severity ?? null,
    // A critical finding of the upstream is a warning here.
    finding: worseSeverity(
      worstFinding(findings, `operations.${id}`),
      sides.some((side) => worstFinding(findings, sideKey(group, side)) === 'critical') ? 'warning' : null,
    ),
  })

// They reject a connection or request before it counts for an operation.
const gates: readonly string[] = ['listen.proxyProtocol', 'limits.concurrency']

const keepsRequestsOut = ({ about, severity }: FindingSubject): boolean =>
  severity === 'critical'
    ? !/^(upstreams|operations|admin)\./.test(about)
    : severity === 'warning' && gates.includes(about)

const stateCell = (at: string, { goes, until, setBy, setReason }: OperationRow): Html => {
  const why = setReason !== null && `: ${setReason}`
  const override = until !== null && html`by ${setBy ?? 'an operator'} until ${timeHtml(at, until)}${why}`
  return html`${stateBadge(goes)}${override && html` <span class="age">${override}</span>`}`
}

type Pace = NonNullable<OperationView['pace']>

const paceColumn = (
  title: string,
  member: 'perSecond' | 'errorsPerSecond' | 'rejectedPerSecond' | 'inFlight',
  format: (value: number) => HtmlValue,
): TableColumn<OperationRow> => ({
  title,
  kind: 'number',
  cell: ({ pace }) => pace && format(pace[member]),
  isIdle: ({ pace }) => pace?.[member] === 0,
})

const latencyColumn = (title: string, member: 'p50Ms' | 'p99Ms'): TableColumn<OperationRow> => ({
  title,
  kind: 'number',
  cell: ({ pace }) => pace && latencyCell(pace, member),
  isIdle: ({ pace }) => pace?.[member] === null,
})

/** Latencies of served requests stand apart: many failed or rejected requests would hide them. */
const latencyCell = ({ outcomes, ...all }: Pace, name: 'p50Ms' | 'p99Ms'): HtmlValue => {
  if (outcomes === null) return formatMilliseconds(all[name])
  const { served, failed, rejected } = outcomes
  return html`${formatMilliseconds(served[name])}${outcomePart('failed', failed[name])}${outcomePart('rejected', rejected[name])}`
}

const outcomePart = (words: string, ms: number | null): Html | null =>
  ms === null ? null : html` <span class="age outcome">${words} ${formatMilliseconds(ms)}</span>`

export const errorRateHtml = (perSecond: number): Html | string =>
  perSecond === 0 ? formatPerSecond(perSecond) : html`<strong>${formatPerSecond(perSecond)}</strong>`

// The caption is for screen readers and for pages without a script.
const chartCell = (
  kind: ChartKind,
  { id, history }: OperationView,
  caption: (history: OperationHistory) => string,
): Html =>
  history === null
    ? html`–`
    : html`<div class="chart" id="chart-${kind}-${id}" data-operation="${id}" data-chart="${kind}" aria-hidden="true"></div><span class="peak">${caption(history)}</span>`

const notYet = 'not counted yet'

const peakRate = ({ perSecond, errorsPerSecond }: OperationHistory): string => {
  if (perSecond.length === 0) return notYet
  const [requests, errors] = [maxOf(perSecond), maxOf(errorsPerSecond)]
  if (requests === 0) return 'none in 15 min'
  return errors === 0
    ? `at most ${formatPerSecond(requests)}/s`
    : `at most ${formatPerSecond(requests)}/s, ${formatPerSecond(errors)} errors`
}

const peakLatency = ({ p99Ms }: OperationHistory): string => {
  if (p99Ms.length === 0) return notYet
  const known = p99Ms.filter((ms) => ms !== null)
  return known.length === 0 ? 'none in 15 min' : `at most ${formatMilliseconds(maxOf(known))}`
}

const maxOf = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0)

type OperationHistory = NonNullable<OperationView['history']>
