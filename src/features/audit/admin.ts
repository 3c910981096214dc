import type { OpenApiPart, PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { type MetricDefinitions, metricsOf } from '../../core/admin/metrics/metric.ts'
import { asBoolean, asNullable, asNumber, asObject, asText, asWord, type Decoded } from '../../core/lib/text/decode.ts'
import { formatTime } from '../../core/lib/text/format-time.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { auditFindings } from './findings.ts'

const audit = metricsOf(({ parts }) => parts.audit.state)

const auditMetrics: MetricDefinitions = {
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

export const findings: readonly PlacedFindings[] = [{ after: 'process', value: auditFindings }]

export const metrics: readonly PlacedMetrics[] = [{ after: 'recording', value: auditMetrics }]

const auditShape = asObject({
  file: asText,
  chain: asText,
  /** How many lines of the chain are written, and the HMAC of the last. */
  count: asNumber,
  hash: asText,
  reason: asNullable(asText),
  since: asText,
  waitingBytes: asNumber,
  lost: asNumber,
  /** The file system of the file, as measured within the last minute; null: it has none, or does not tell. */
  disk: asNullable(
    asObject({
      freeBytes: asNumber,
      sizeBytes: asNumber,
      /** At the pace of the last hour; null: nothing fills it, or that is not known yet. */
      fullInSeconds: asNullable(asNumber),
      /** Whether it needs an operator before it is full. */
      low: asBoolean,
    }),
  ),
  state: asWord<'written' | 'failing'>(),
})

declare module '../../core/admin/api/status.ts' {
  interface Status {
    /** Null: there is no audit log, or another process writes it. */
    readonly audit: Decoded<typeof auditShape> | null
  }
}

export const status: readonly PlacedStatus[] = [
  {
    after: 'retiring',
    key: 'audit',
    field: derived(asNullable(auditShape), ({ inputs }: StatusInputs) => {
      const audit = inputs.parts.audit.state
      return (
        audit && {
          ...audit,
          state: audit.reason === null ? ('written' as const) : ('failing' as const),
          since: formatTime(audit.since),
        }
      )
    }),
  },
]

export const loadOpenApi = async (): Promise<OpenApiPart> => ({
  describe: (_, { audit }) => (audit?.onFailure === 'refuse' ? { failures: ['audit-unavailable'] } : {}),
})
