import { version } from '../../../lib/program.ts'
import type { ReloadCount } from '../../../runtime/reload/reload-history.ts'
import { counter, gauge, type MetricDefinitions, seriesFor } from '../metric.ts'

const triggers = [
  'file',
  'signal',
  'request',
  'rollback',
  'preflight',
] as const satisfies readonly ReloadCount['trigger'][]
const results = ['applied', 'unchanged', 'rejected'] as const satisfies readonly ReloadCount['result'][]

const reloads = seriesFor(['trigger', 'result'], ({ reloads }) =>
  triggers.flatMap((trigger) =>
    results.map((result) => {
      const found = reloads.find((each) => each.trigger === trigger && each.result === result)
      return [trigger, result, found?.count ?? 0] as const
    }),
  ),
)

const certificate = seriesFor(['certificate'], ({ certificates }) =>
  certificates.map(({ key, notAfter }) => [key, notAfter]),
)

export const configurationMetrics: MetricDefinitions = {
  config_info: seriesFor(['hash'], ({ config }) => [[config.hash, 1]]).gauge(
    'Always 1; the label is the hash of the running configuration.',
  ),
  config_loaded_timestamp_seconds: gauge(
    'When the running configuration took effect.',
    ({ loadedAt }) => loadedAt / 1000,
  ),
  config_last_reload_successful: gauge(
    'Whether the last reload applied the file (1), or rejected or held it back (0).',
    ({ file }) => file.rejection === null,
  ),
  config_file_differs: gauge(
    'Whether the file, or a file it names, differs from the running configuration (1).',
    ({ file }) => file.differing.length > 0,
  ),
  config_held_back: gauge(
    'Whether an edit waits for endpoints, keys or workers to respond (1).',
    ({ file }) => file.nextTryAt !== null,
  ),
  config_reloads_total: reloads.counter('Reloads by trigger and result.'),
  certificate_not_after_timestamp_seconds: certificate.gauge(
    'When a certificate of the gateway, or the first of its trusted authorities, expires.',
    (notAfter) => notAfter / 1000,
  ),
  certificate_left_seconds: certificate.gauge(
    'Time until the certificate expires; negative afterwards.',
    (notAfter, { at }) => (notAfter - at) / 1000,
  ),
}

const running = seriesFor(['process'], ({ report }) => report.runtimes.map((each) => [each.process, each]))

const delays = seriesFor(['process', 'statistic'], ({ report }) =>
  report.runtimes.flatMap(({ process: name, eventLoop: { delayMs } }) =>
    delayMs === null
      ? []
      : (['p50', 'p99', 'max'] as const).map((statistic) => [name, statistic, delayMs[statistic]] as const),
  ),
)

export const processMetrics: MetricDefinitions = {
  build_info: seriesFor(['version', 'node'], () => [[version(), process.version, 1]]).gauge(
    'Always 1; the labels are the versions of the gateway and Node.',
  ),
  ready: gauge('Whether the gateway is ready for clients (1).', 'ready'),
  process_start_time_seconds: running.gauge(
    'When the process started, in seconds since the epoch.',
    ({ startedAt }) => startedAt / 1000,
  ),
  process_uptime_seconds: running.gauge('Time since the process started.', 'uptimeSeconds'),
  process_cpu_seconds_total: running.counter(
    'CPU time of the process, user and system.',
    ({ cpuSeconds: { user, system } }) => user + system,
  ),
  process_resident_memory_bytes: running.gauge('Resident memory of the process (RSS).', 'residentBytes'),
  process_heap_used_bytes: running.gauge('Used heap of the process.', ({ heap }) => heap.usedBytes),
  process_heap_limit_bytes: running.gauge('Limit of the heap.', ({ heap }) => heap.limitBytes),
  process_external_memory_bytes: running.gauge('Memory of buffers outside the heap.', 'externalBytes'),
  process_event_loop_active_seconds_total: running.counter(
    'Busy time of the event loop.',
    ({ eventLoop }) => eventLoop.activeSeconds,
  ),
  process_event_loop_delay_seconds: delays.gauge(
    'Delay of timers over the last seconds: median, 99th percentile, worst.',
    (ms) => ms / 1000,
  ),
}

export const retiringMetrics: MetricDefinitions = {
  configurations_retiring: gauge(
    'Earlier configurations with requests under way, the most of all workers.',
    ({ report }) => report.retiring,
  ),
}

export const recordingMetrics: MetricDefinitions = {
  log_lines_dropped_total: counter('Log lines dropped because their reader was too slow.', 'droppedLines'),
}
