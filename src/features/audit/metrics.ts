import { type MetricDefinitions, metricsOf } from '../../core/admin/metrics/metric.ts'

const audit = metricsOf(({ parts }) => parts.audit.state)

export const auditMetrics: MetricDefinitions = {
  audit_lines_total: audit.counter(
    'Lines that the chain of the audit log has, those of processes before this one among them.',
    'count',
  ),
  audit_lines_lost_total: audit.counter(
    'Lines of the audit log that could not be kept until they could be written.',
    'lost',
  ),
  audit_failing: audit.gauge('Whether the audit log cannot be written (1).', ({ reason }) => reason !== null),
  audit_waiting_bytes: audit.gauge('Lines of the audit log that wait to be written.', 'waitingBytes'),
  audit_disk_free_bytes: audit.gauge(
    'What is free of the disk of the audit log, for the user of the gateway.',
    ({ disk }) => disk?.freeBytes,
  ),
  audit_disk_size_bytes: audit.gauge('The size of the disk of the audit log.', ({ disk }) => disk?.sizeBytes),
}
