import type { Overview } from '../../core/admin/admin-part.ts'
import { renderFindings, statusTexts, upstreamRows } from '../../core/admin/api/status-rows.ts'
import { humanizeSeconds } from '../../core/lib/text/format-time.ts'
import { formatTable, maxLength } from '../../core/lib/text/table.ts'
import type { Status } from '../../core/runtime/status/status-part.ts'
import type { OperationView } from '../overview/overview.ts'
import { line, type ScreenLine, type TerminalCaps, type Tone, wrapLine } from './screen.ts'

export interface TopView {
  readonly url: string
  readonly overview: Overview
  readonly at: number
  readonly stale: { readonly seconds: number; readonly why: string } | null
}

export const renderFrame = ({ url, overview, at, stale }: TopView, caps: TerminalCaps): readonly ScreenLine[] => {
  const { status, operations } = overview
  const { findings, upstreams } = status
  const blocks: readonly (readonly ScreenLine[])[] = [
    [
      line(renderHead(url, status, at), isHealthy(status) ? 'title' : 'critical'),
      ...(stale === null ? [] : wrapLine(renderStaleLine(stale), caps.columns, 2)),
    ],
    findingLines(findings, at, caps),
    renderOperations(operations, caps),
    tableLines(formatTable(upstreamRows(upstreams, at)), caps),
    ...statusTexts.flatMap(({ inTop, render }) => {
      const text = inTop === true ? render(status, at) : null
      return text === null ? [] : [tableLines(text, caps)]
    }),
  ]
  return blocks.filter((lines) => lines.length > 0).flatMap((lines, i) => (i === 0 ? lines : [line(''), ...lines]))
}

export const cropLines = (lines: readonly ScreenLine[], rows: number): readonly ScreenLine[] => {
  if (lines.length <= rows) return lines
  const kept = lines.slice(0, Math.max(0, rows - 1))
  return [...kept, line(`${lines.length - kept.length} more lines: enlarge the window, or run status`, 'title')]
}

const renderHead = (url: string, { version, state, ready, uptimeSeconds, config }: Status, at: number): string =>
  [
    `lender-gateway ${version}`,
    `${state === 'serving' ? state : state.toUpperCase()}, ${ready ? 'ready' : 'NOT READY'}`,
    `config ${config.hash}${config.fileDiffers ? ', FILE DIFFERS' : ''}`,
    `up ${humanizeSeconds(uptimeSeconds)}`,
    `${new Date(at).toISOString().slice(0, 19)}Z`,
    url,
  ].join(' | ')

const isHealthy = ({ state, ready, config }: Status): boolean => state === 'serving' && ready && !config.fileDiffers

const renderStaleLine = ({ seconds, why }: NonNullable<TopView['stale']>): ScreenLine =>
  line(`STALE for ${humanizeSeconds(seconds)}: ${why}`, 'critical')

const tableLines = (table: string, { columns }: TerminalCaps): readonly ScreenLine[] =>
  table
    .split('\n')
    .map((text, i) => line(text, i === 0 ? 'title' : rowTone(text)))
    .flatMap((row) => (row.tone === 'critical' ? wrapLine(row, columns, 4) : [row])) // the reason stands at the end

/** Capitals mark what needs an operator. */
const rowTone = (text: string): Tone =>
  /\b(DOWN|FAILING|EJECTED|OPEN|USED UP|FULL|SHEDS|NOT REPLYING|RUNS ANOTHER|CANNOT BE USED|ENDED AGAIN)\b/.test(text)
    ? 'critical'
    : 'plain'

const severityTones = { critical: 'critical', warning: 'warning', notice: 'plain' } as const

/** At most a third of the window. Each finding is named before any is detailed. */
const findingLines = (
  found: Status['findings'],
  at: number,
  { columns, rows }: TerminalCaps,
): readonly ScreenLine[] => {
  if (found.length === 0) return [line(renderFindings(found, at), 'good')]
  const all = found.flatMap((each) =>
    renderFindings([each], at)
      .split('\n')
      .map((text, i) => ({
        rank: i,
        lines: wrapLine(line(text, i === 0 ? severityTones[each.severity] : 'plain'), columns, 10),
      })),
  )
  const count = all.flatMap(({ lines }) => lines).length
  const room = Math.max(3, Math.floor(rows / 3))
  if (count <= room) return all.flatMap(({ lines }) => lines)
  let left = room - 1
  const kept: (readonly ScreenLine[])[] = []
  for (const [i, { lines }] of [...all.entries()].sort(([, a], [, b]) => Math.min(a.rank, 1) - Math.min(b.rank, 1))) {
    kept[i] = lines.slice(0, left)
    left -= kept[i].length
  }
  return [...kept.flat(), line(`${count - room + 1} more lines of findings: status shows all`, 'title')]
}

type Rates = NonNullable<OperationView['pace']>

const rateCell =
  (cell: (pace: Rates) => string) =>
  ({ pace }: OperationView): string =>
    pace === null ? '-' : cell(pace)

const nameCell = ({ id, state, failing }: OperationView): string =>
  state === 'reject' ? `${id} REJECTED` : failing ? `${id} FAILING` : id

type Column = (typeof columns)[number]

/** Columns of the lowest rank are left out first. */
const columns = [
  { title: 'operation', rank: 9, cell: nameCell },
  { title: 'req/s', rank: 8, cell: rateCell(({ perSecond }) => formatPerSecond(perSecond)) },
  { title: 'err/s', rank: 7, cell: rateCell(({ errorsPerSecond }) => formatPerSecond(errorsPerSecond)) },
  { title: '4xx/s', rank: 4, cell: rateCell(({ rejectedPerSecond }) => formatPerSecond(rejectedPerSecond)) },
  { title: 'p50', rank: 3, cell: rateCell(({ p50Ms }) => formatMilliseconds(p50Ms)) },
  { title: 'p99', rank: 6, cell: rateCell(({ p99Ms }) => formatMilliseconds(p99Ms)) },
  { title: 'in flight', rank: 2, cell: rateCell(({ inFlight }) => `${inFlight}`) },
]

// As on the admin page: 15 minutes, in steps of 5 s.
const chartSeconds = 900
const [minChartColumns, maxChartColumns] = [10, 60]

const renderOperations = (operations: readonly OperationView[], caps: TerminalCaps): readonly ScreenLine[] => {
  const shown = fitColumns(operations, caps.columns)
  const rows = formatTable([
    shown.map(({ title }) => title),
    ...operations.map((operation) => shown.map(({ cell }) => cell(operation))),
  ])
  const [title = '', ...lines] = rows.split('\n')
  const width = maxLength(rows.split('\n'))
  const room = Math.min(caps.columns - width - 2, maxChartColumns)
  const isCounted = operations.some(({ history }) => history !== null)
  if (room < minChartColumns || !isCounted)
    return [line(title, 'title'), ...lines.map((text, i) => line(text, operationTone(operations[i])))]
  const chart = ({ history }: OperationView): string =>
    history === null ? '' : renderSparkline(history.perSecond, steps(history.stepSeconds), room, caps.unicode)
  return [
    line(`${title.padEnd(width)}  ${'last 15 min'.slice(0, room)}`, 'title'),
    ...operations.map((operation, i) =>
      line(`${(lines[i] ?? '').padEnd(width)}  ${chart(operation)}`.trimEnd(), operationTone(operation)),
    ),
  ]
}

const steps = (stepSeconds: number): number =>
  Math.min(chartSeconds, Math.max(1, Math.round(chartSeconds / stepSeconds)))

const fitColumns = (operations: readonly OperationView[], room: number): readonly Column[] => {
  let shown: readonly Column[] = columns
  const columnWidth = ({ title, cell }: Column): number => 2 + maxLength([title, ...operations.map(cell)])
  while (shown.length > 2 && shown.reduce((sum, column) => sum + columnWidth(column), -2) > room) {
    const lowestRank = Math.min(...shown.map(({ rank }) => rank))
    shown = shown.filter(({ rank }) => rank !== lowestRank)
  }
  return shown
}

const operationTone = (operation: OperationView | undefined): Tone => {
  if (operation === undefined) return 'plain'
  if (operation.state === 'reject') return 'warning'
  return operation.failing || (operation.pace?.errorsPerSecond ?? 0) > 0 ? 'critical' : 'plain'
}

const formatPerSecond = (perSecond: number): string => {
  if (perSecond === 0) return '0'
  return perSecond < 9.95 ? perSecond.toFixed(1) : `${Math.round(perSecond)}`
}

const formatMilliseconds = (ms: number | null): string => {
  if (ms === null) return '-'
  if (ms < 9.95) return `${ms.toFixed(1)}ms`
  return ms < 999.5 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(1)}s`
}

const unicodeLevels = ' ▁▂▃▄▅▆▇█'
// Sums of values up to this stay finite.
const maxValue = 1e15

const asciiLevels = ' .:-=+*#@'

/**
 * The newest value is at the right; a column is the mean of its values, relative to the highest mean. `all`: the number
 * of values when full.
 */
export const renderSparkline = (values: readonly number[], all: number, columns: number, unicode: boolean): string => {
  const levels = unicode ? unicodeLevels : asciiLevels
  const padded = [...Array(Math.max(0, all - values.length)).fill(0), ...values]
  const means = Array.from({ length: columns }, (_, i) => {
    const [from, to] = [i, i + 1].map((nth) => Math.round((nth * padded.length) / columns)) as [number, number]
    const part = padded.slice(from, Math.max(to, from + 1))
    return part.reduce((sum, value) => sum + Math.min(Math.max(0, value), maxValue), 0) / Math.max(1, part.length)
  })
  const highest = Math.max(...means)
  return means.map((mean) => levels[mean > 0 ? Math.max(1, Math.round((mean / highest) * 8)) : 0]).join('')
}
