import type { ProcessReport } from '../../../snapshot/report.ts'
import { version } from '../../../version.ts'
import { counter, gauge, type Metric } from '../metric.ts'
import type { Reading } from '../reading.ts'

/** Says how the processes do. */
export const processes: readonly Metric[] = [
  gauge('build_info', 'Is 1; its labels are the versions of the gateway and of Node.', ['version', 'node'], () => [
    [version(), process.version, 1],
  ]),
  gauge('ready', 'Whether new clients are welcome (1).', [], ({ ready }) => [[ready ? 1 : 0]]),
  gauge('process_start_time_seconds', 'When a process started, in seconds since the epoch.', ['process'], (reading) =>
    ofProcesses(reading, ({ uptimeSeconds }) => Math.round(reading.at / 1000 - uptimeSeconds)),
  ),
  gauge('process_uptime_seconds', 'For how long a process has run.', ['process'], (reading) =>
    ofProcesses(reading, ({ uptimeSeconds }) => uptimeSeconds),
  ),
  counter('process_cpu_seconds_total', 'CPU time that a process has used, user and system.', ['process'], (reading) =>
    ofProcesses(reading, ({ cpuSeconds: { user, system } }) => user + system),
  ),
  gauge('process_resident_memory_bytes', 'Memory that a process has (RSS).', ['process'], (reading) =>
    ofProcesses(reading, ({ residentBytes }) => residentBytes),
  ),
  gauge('process_heap_used_bytes', 'What is in use of the heap of a process.', ['process'], (reading) =>
    ofProcesses(reading, ({ heap: { usedBytes } }) => usedBytes),
  ),
  gauge('process_heap_limit_bytes', 'How large the heap of a process may become.', ['process'], (reading) =>
    ofProcesses(reading, ({ heap: { limitBytes } }) => limitBytes),
  ),
  gauge('process_external_memory_bytes', 'Memory of buffers of a process, outside its heap.', ['process'], (reading) =>
    ofProcesses(reading, ({ externalBytes }) => externalBytes),
  ),
  counter(
    'process_event_loop_active_seconds_total',
    'For how long the event loop of a process has been at work.',
    ['process'],
    (reading) => ofProcesses(reading, ({ eventLoop: { activeSeconds } }) => activeSeconds),
  ),
  gauge(
    'process_event_loop_delay_seconds',
    'How late the timers of a process were over the last seconds: the median, the slowest hundredth, the worst.',
    ['process', 'statistic'],
    ({ report }) =>
      report.runtimes.flatMap(({ process: name, eventLoop: { delayMs } }) =>
        delayMs === null
          ? []
          : (['p50', 'p99', 'max'] as const).map((statistic) => [name, statistic, delayMs[statistic] / 1000] as const),
      ),
  ),
  gauge('worker_serving', 'Whether a worker serves (1).', ['worker'], ({ workers }) =>
    workers.map(({ worker, state }) => [String(worker), state === 'serving' ? 1 : 0]),
  ),
  counter('worker_restarts_total', 'How often a worker ended and was replaced.', ['worker'], ({ workers }) =>
    workers.map(({ worker, restarts }) => [String(worker), restarts]),
  ),
  gauge('configurations_retiring', 'Earlier configurations that still finish requests.', [], ({ report }) => [
    [report.retiring],
  ]),
]

const ofProcesses = ({ report }: Reading, read: (each: ProcessReport) => number) =>
  report.runtimes.map((each) => [each.process, read(each)] as const)
