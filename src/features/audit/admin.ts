import type { PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { asBoolean, asNullable, asNumber, asObject, asText, asWord, type Decoded } from '../../core/lib/text/decode.ts'
import { formatTime } from '../../core/lib/text/format-time.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { auditFindings } from './findings.ts'
import { auditMetrics } from './metrics.ts'

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
