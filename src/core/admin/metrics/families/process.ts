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
    'Is 1; its label is the hash of the configuration that runs.',
  ),
  config_loaded_timestamp_seconds: gauge(
    'When the configuration that runs came to run.',
    ({ loadedAt }) => loadedAt / 1000,
  ),
  config_last_reload_successful: gauge(
    'Whether the last reload applied the file (1), or rejected it or held it back, so that the configuration before runs on (0).',
    ({ file }) => file.rejection === null,
  ),
  config_file_differs: gauge(
    'Whether the file, or one that it refers to, says something else than what runs (1).',
    ({ file }) => file.differing.length > 0,
  ),
  config_held_back: gauge(
    'Whether an edit waits until the endpoints or keys that it brings, or the workers, are reached (1).',
    ({ file }) => file.nextTryAt !== null,
  ),
  config_reloads_total: reloads.counter('Reloads, by what set them off and what came of them.'),
  certificate_not_after_timestamp_seconds: certificate.gauge(
    'When a certificate that the gateway shows, or the first to end of the authorities that it trusts, expires.',
    (notAfter) => notAfter / 1000,
  ),
  certificate_left_seconds: certificate.gauge(
    'How long until a certificate expires; below 0: it has.',
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
    'Is 1; its labels are the versions of the gateway and of Node.',
  ),
  ready: gauge('Whether new clients are welcome (1).', 'ready'),
  process_start_time_seconds: running.gauge(
    'When a process started, in seconds since the epoch.',
    ({ startedAt }) => startedAt / 1000,
  ),
  process_uptime_seconds: running.gauge('For how long a process has run.', 'uptimeSeconds'),
  process_cpu_seconds_total: running.counter(
    'CPU time that a process has used, user and system.',
    ({ cpuSeconds: { user, system } }) => user + system,
  ),
  process_resident_memory_bytes: running.gauge('Memory that a process has (RSS).', 'residentBytes'),
  process_heap_used_bytes: running.gauge('What is in use of the heap of a process.', ({ heap }) => heap.usedBytes),
  process_heap_limit_bytes: running.gauge('How large the heap of a process may become.', ({ heap }) => heap.limitBytes),
  process_external_memory_bytes: running.gauge('Memory of buffers of a process, outside its heap.', 'externalBytes'),
  process_event_loop_active_seconds_total: running.counter(
    'For how long the event loop of a process has been at work.',
    ({ eventLoop }) => eventLoop.activeSeconds,
  ),
  process_event_loop_delay_seconds: delays.gauge(
    'How late the timers of a process were over the last seconds: the median, the slowest hundredth, the worst.',
    (ms) => ms / 1000,
  ),
}

export const retiringMetrics: MetricDefinitions = {
  configurations_retiring: gauge(
    'Earlier configurations that still finish requests; of several workers, the most that one of them finishes.',
    ({ report }) => report.retiring,
  ),
}

export const recordingMetrics: MetricDefinitions = {
  log_lines_dropped_total: counter('Log lines that were dropped because their reader was too slow.', 'droppedLines'),
}
