/** Prints a report as Markdown, so that a run can be pasted into the documentation as it is. */
import { type Report, type Series, spread, verdict } from './report.ts'

type Row = readonly string[]

/** Writes the whole report. */
export const render = (report: Report): string => {
  const { options } = report
  const parts = [
    `${report.date}; ${report.machine}`,
    `${options.rounds} rounds after one for warm-up, ${options.seconds} s a turn, ${options.connections} connections, ${report.load}`,
    table(
      ['peer', 'configured as'],
      report.peers.map(({ peer, description }) => [peer, description]),
      2,
    ),
    table(
      [
        'workload',
        'peer',
        'CPU µs/request',
        'min–max',
        'p50 ms',
        'p99 ms',
        'requests/s',
        'served',
        'failed',
        'cores',
        'log lines/request',
      ],
      report.series.map(seriesRow),
      2,
    ),
    table(
      ['workload', 'CPU a request', 'ratio', '95 % interval', 'at most', ''],
      report.comparisons.map((each) => [
        each.workload,
        `${each.of} / ${each.over}`,
        each.ratio.toFixed(3),
        `${each.low.toFixed(3)}–${each.high.toFixed(3)}`,
        each.atMost === null ? '' : each.atMost.toFixed(2),
        verdict(each),
      ]),
      2,
    ),
    ...report.peers.flatMap(({ peer, problems }) => problems.map((problem) => `not compared: ${peer}: ${problem}`)),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

const seriesRow = ({ workload, peer, samples }: Series): Row => {
  const cpu = spread(samples, ({ cpuUs }) => cpuUs)
  const total = (figure: 'served' | 'failed') => samples.reduce((sum, sample) => sum + sample[figure], 0)
  return [
    workload,
    peer,
    cpu.median.toFixed(1),
    `${cpu.min.toFixed(1)}–${cpu.max.toFixed(1)}`,
    spread(samples, ({ p50Ms }) => p50Ms).median.toFixed(2),
    spread(samples, ({ p99Ms }) => p99Ms).median.toFixed(2),
    spread(samples, ({ served, seconds }) => served / seconds).median.toFixed(0),
    String(total('served')),
    String(total('failed')),
    spread(samples, ({ cores }) => cores).median.toFixed(2),
    spread(samples, ({ logLines }) => logLines).median.toFixed(3),
  ]
}

/** Writes a Markdown table with padded cells; the first `names` columns are text and the rest figures. Empty for no rows. */
const table = (head: Row, rows: readonly Row[], names: number): string => {
  if (rows.length === 0) return ''
  const widths = head.map((cell, column) => Math.max(3, cell.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: Row): string =>
    `| ${row
      .map((cell, column) => (column < names ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join(' | ')} |`
  const rule = widths.map((width, column) => (column < names ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}
