/** Prints a report as Markdown, so that a run can be pasted into the documentation as it is. */

import type { FixedRateReport } from './fixed-rate.ts'
import type { IdleMemory } from './idle-memory.ts'
import { type Report, type Series, spread, verdict } from './report.ts'
import { median } from './stats.ts'
import { type Row, table } from './table.ts'

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
    seriesTable(report.series),
    table(
      ['workload', 'CPU a request', 'ratio', '95 % interval', 'at most', ''],
      report.comparisons.map((each) => [
        each.workload,
        `${each.of} / ${each.over}`,
        each.ratio.toFixed(3),
        `${each.low.toFixed(3)}–${each.high.toFixed(3)}`,
        each.atMost === null ? '' : each.atMost.toFixed(2),
        verdict({ ...each, middle: each.ratio }),
      ]),
      2,
    ),
    ...(report.atRate === null ? [] : rateParts(report.atRate)),
    idleTable(report.idleMemory),
    ...report.peers.flatMap(({ peer, problems }) => problems.map((problem) => `not compared: ${peer}: ${problem}`)),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** Writes what was measured, a line for each peer and workload. */
export const seriesTable = (series: readonly Series[]): string =>
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
      'peak MiB',
    ],
    series.map(seriesRow),
    2,
  )

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
    (spread(samples, (sample) => sample.peakKiB).max / 1_024).toFixed(0),
  ]
}

const rateParts = ({ requestsPerSecond, connections, series, p99, problems }: FixedRateReport): readonly string[] => [
  `GET at ${requestsPerSecond} requests/s over ${connections} connections, h2load`,
  table(
    ['at the rate', 'p50 ms', 'p99 ms', 'min–max', 'CPU µs/request', 'cores'],
    series.map(({ peer, samples }) => {
      const slow = spread(samples, ({ p99Ms }) => p99Ms)
      return [
        peer,
        spread(samples, ({ p50Ms }) => p50Ms).median.toFixed(2),
        slow.median.toFixed(2),
        `${slow.min.toFixed(2)}–${slow.max.toFixed(2)}`,
        spread(samples, ({ cpuUs }) => cpuUs).median.toFixed(1),
        spread(samples, ({ cores }) => cores).median.toFixed(2),
      ]
    }),
    1,
  ),
  table(
    ['p99 at the rate', 'ms more', '95 % interval', 'at most', ''],
    p99.map((each) => [
      `${each.of} − ${each.over}`,
      each.middle.toFixed(2),
      `${each.low.toFixed(2)}–${each.high.toFixed(2)}`,
      each.atMost === null ? '' : each.atMost.toFixed(2),
      verdict(each),
    ]),
    1,
  ),
  ...problems.map((problem) => `not compared at the rate: ${problem}`),
]

const idleTable = (measured: readonly IdleMemory[]): string =>
  table(
    ['idle memory', 'connections', 'KiB each', 'min–max', 'at most', 'closed'],
    measured.map(({ peer, connections, kibEach, closed, atMost }) => [
      peer,
      String(connections),
      median(kibEach).toFixed(1),
      `${Math.min(...kibEach).toFixed(1)}–${Math.max(...kibEach).toFixed(1)}`,
      atMost === null ? '' : String(atMost),
      String(closed),
    ]),
    1,
  )
