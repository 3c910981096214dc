import type { OperationView, Overview } from '../../api/overview.ts'
import { badge, commandLinks, htmlSection, htmlTable, timeHtml } from '../components.ts'
import { formatCount, formatMilliseconds, formatPerSecond } from '../format.ts'
import { type Html, html } from '../html.ts'

/** Renders the operations: how often they are called, how that goes, and how long it takes. */
export const operationsSection = ({ at, operations }: Overview): Html =>
  htmlSection(
    'operations',
    'Operations',
    htmlTable<OperationView>({
      id: 'operations-table',
      caption: 'The nine: requests a second now, times of the last minute, charts of the last 15',
      idOf: ({ id }) => `operation-${id}`,
      isBad: ({ pace, state, failing }) => (pace?.errorsPerSecond ?? 0) > 0 || failing || state === 'refuse',
      bodies: [{ rows: operations }],
      columns: [
        {
          title: 'Operation',
          cell: ({ id, method, path }) => html`<b>${id}</b> <span class="target">${method} ${path}</span>`,
        },
        { title: 'State', cell: (operation) => stateCell(at, operation) },
        { title: 'Requests/s', kind: 'number', cell: ({ pace }) => pace && formatPerSecond(pace.perSecond) },
        { title: 'Errors/s', kind: 'number', cell: ({ pace }) => pace && errorRateCell(pace.errorsPerSecond) },
        { title: 'Refused/s', kind: 'number', cell: ({ pace }) => pace && formatPerSecond(pace.refusedPerSecond) },
        { title: 'In flight', kind: 'number', cell: ({ pace }) => pace && formatCount(pace.inFlight) },
        { title: 'p50', kind: 'number', cell: ({ pace }) => pace && formatMilliseconds(pace.p50Ms) },
        { title: 'p99', kind: 'number', cell: ({ pace }) => pace && formatMilliseconds(pace.p99Ms) },
        { title: '15 min: requests', kind: 'chart', cell: (operation) => chartCell('rate', operation, peakRate) },
        { title: '15 min: p99', kind: 'chart', cell: (operation) => chartCell('p99', operation, peakLatency) },
        { title: 'Do', kind: 'act', cell: (operation) => commandLinks('operation', operation) },
      ],
    }),
    html`<p class="legend"><span class="key requests">requests</span> <span class="key errors">errors</span> <span class="key p99">p99</span></p>`,
  )

const stateCell = (at: string, { state, failing, until }: OperationView): Html =>
  html`${state === 'refuse' ? badge('off', 'refused') : failing ? badge('bad', 'fails') : badge('good', 'serves')}${until !== null && html` <span class="age">by order until ${timeHtml(at, until)}</span>`}`

const errorRateCell = (perSecond: number): Html | string =>
  perSecond === 0 ? formatPerSecond(perSecond) : html`<strong>${formatPerSecond(perSecond)}</strong>`

// The caption says what the chart shows: a chart is drawn by a script only, and cannot be heard.
const chartCell = (
  kind: 'rate' | 'p99',
  { id, history }: OperationView,
  caption: (history: OperationHistory) => string,
): Html =>
  history === null
    ? html`–`
    : html`<div class="chart" id="chart-${kind}-${id}" data-operation="${id}" data-chart="${kind}" aria-hidden="true"></div><span class="peak">${caption(history)}</span>`

const peakRate = ({ perSecond, errorsPerSecond }: OperationHistory): string => {
  const [requests, errors] = [maxOf(perSecond), maxOf(errorsPerSecond)]
  if (requests === 0) return 'none in 15 min'
  return errors === 0
    ? `at most ${formatPerSecond(requests)}/s`
    : `at most ${formatPerSecond(requests)}/s, ${formatPerSecond(errors)} errors`
}

const peakLatency = ({ p99Ms }: OperationHistory): string => {
  const known = p99Ms.filter((ms) => ms !== null)
  return known.length === 0 ? 'none in 15 min' : `at most ${formatMilliseconds(maxOf(known))}`
}

const maxOf = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0)

type OperationHistory = NonNullable<OperationView['history']>
