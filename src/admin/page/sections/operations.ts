import type { OperationView, Overview } from '../../overview.ts'
import { type Html, html } from '../html.ts'
import { count, links, mark, milliseconds, moment, rate, section, table } from '../parts.ts'

/** Tells of the nine operations: how often they are asked for, how that goes, and how long it takes. */
export const operations = ({ at, operations }: Overview): Html =>
  section(
    'operations',
    'Operations',
    table<OperationView>({
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
        { title: 'State', cell: (operation) => state(at, operation) },
        { title: 'Requests/s', kind: 'number', cell: ({ pace }) => pace && rate(pace.perSecond) },
        { title: 'Errors/s', kind: 'number', cell: ({ pace }) => pace && alarming(pace.errorsPerSecond) },
        { title: 'Refused/s', kind: 'number', cell: ({ pace }) => pace && rate(pace.refusedPerSecond) },
        { title: 'In flight', kind: 'number', cell: ({ pace }) => pace && count(pace.inFlight) },
        { title: 'p50', kind: 'number', cell: ({ pace }) => pace && milliseconds(pace.p50Ms) },
        { title: 'p99', kind: 'number', cell: ({ pace }) => pace && milliseconds(pace.p99Ms) },
        { title: '15 min: requests', kind: 'chart', cell: (operation) => chart('rate', operation, peak) },
        { title: '15 min: p99', kind: 'chart', cell: (operation) => chart('p99', operation, slowest) },
        { title: 'Do', kind: 'act', cell: (operation) => links('operation', operation) },
      ],
    }),
    html`<p class="legend"><span class="key requests">requests</span> <span class="key errors">errors</span> <span class="key p99">p99</span></p>`,
  )

const state = (at: string, { state, failing, until }: OperationView): Html =>
  html`${state === 'refuse' ? mark('off', 'refused') : failing ? mark('bad', 'fails') : mark('good', 'serves')}${until !== null && html` <span class="age">by order until ${moment(at, until)}</span>`}`

const alarming = (perSecond: number): Html | string =>
  perSecond === 0 ? rate(perSecond) : html`<strong>${rate(perSecond)}</strong>`

// What a chart shows is said beside it: it is drawn for whoever sees it, and by a script only.
const chart = (kind: 'rate' | 'p99', { id, history }: OperationView, said: (history: History) => string): Html =>
  history === null
    ? html`–`
    : html`<div class="chart" id="chart-${kind}-${id}" data-operation="${id}" data-chart="${kind}" aria-hidden="true"></div><span class="peak">${said(history)}</span>`

const peak = ({ perSecond, errorsPerSecond }: History): string => {
  const [requests, errors] = [most(perSecond), most(errorsPerSecond)]
  if (requests === 0) return 'none in 15 min'
  return errors === 0 ? `at most ${rate(requests)}/s` : `at most ${rate(requests)}/s, ${rate(errors)} errors`
}

const slowest = ({ p99Ms }: History): string => {
  const known = p99Ms.filter((ms) => ms !== null)
  return known.length === 0 ? 'none in 15 min' : `at most ${milliseconds(most(known))}`
}

const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0)

type History = NonNullable<OperationView['history']>
