import { dirname, isAbsolute } from 'node:path'
import type { OpenApiPart, PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { pluralize } from '../../core/admin/commands/phrases.ts'
import { rejectedPhrase, tallyRejected } from '../../core/admin/findings/failure-phrases.ts'
import { type Finding, finding } from '../../core/admin/findings/finding.ts'
import type { FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { type MetricDefinitions, metricsOf } from '../../core/admin/metrics/metric.ts'
import { shellQuote } from '../../core/lib/program.ts'
import { asWord } from '../../core/lib/text/decode.ts'
import { formatAge, formatRoundedSize } from '../../core/lib/text/units.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { DiskSpaceState } from './disk-space.ts'

const audit = metricsOf(({ parts }) => parts.audit.state)

const auditMetrics: MetricDefinitions = {
  audit_lines_total: audit.counter("Lines in the audit log's chain, those of earlier processes included.", 'count'),
  audit_lines_lost_total: audit.counter('Lines of the audit log lost for lack of room.', 'lost'),
  audit_failing: audit.gauge('Whether the audit log cannot be written (1).', ({ reason }) => reason !== null),
  audit_waiting_bytes: audit.gauge('Bytes of lines that wait for the audit log.', 'waitingBytes'),
  audit_disk_free_bytes: audit.gauge(
    "Free space on the audit log's disk, for the gateway's user.",
    ({ disk }) => disk?.freeBytes,
  ),
  audit_disk_size_bytes: audit.gauge("Size of the audit log's disk.", ({ disk }) => disk?.sizeBytes),
}

export const metrics: readonly PlacedMetrics[] = [{ after: 'recording', value: auditMetrics }]

const auditField = field.nullable(
  field.record({
    file: field.text,
    chain: field.text,
    /** Written lines, and the last HMAC. */
    count: field.number,
    hash: field.text,
    reason: field.optionalText,
    since: field.time,
    waitingBytes: field.number,
    lost: field.number,
    /** Measured within the last minute; null: not a file, or a file system without a size. */
    disk: field.nullable(
      field.record({
        freeBytes: field.number,
        sizeBytes: field.number,
        fullInSeconds: field.optionalNumber,
        low: field.flag,
      }),
    ),
    state: field.derived(asWord<'written' | 'failing'>(), ({ reason }: { readonly reason: string | null }) =>
      reason === null ? 'written' : 'failing',
    ),
  }),
)

declare module '../../core/runtime/status/status-part.ts' {
  interface Status {
    readonly audit: field.Shown<typeof auditField>
  }
}

export const status: readonly PlacedStatus[] = [
  {
    after: 'retiring',
    key: 'audit',
    field: field.derived(auditField.decode, ({ inputs }: StatusInputs, context) =>
      auditField.show(inputs.parts.audit.state, context),
    ),
  },
]

export const loadOpenApi = async (): Promise<OpenApiPart> => ({
  describe: (_, { audit }) => (audit?.onFailure === 'reject' ? { failures: ['audit-unavailable'] } : {}),
})

const auditFindings: FindingSource = ({ parts, config, report }) => {
  const audit = parts.audit.state
  const rejected = tallyRejected(report, 'audit-unavailable')
  // An edit to `continue` ends an outage: no rejections, no lost lines.
  const rejects = config.audit?.onFailure === 'reject'
  if (audit !== null && audit.reason !== null) {
    const facts = { ...audit, rejects, rejected, command: diskCommand(audit.file, audit.reason) }
    return finding('audit-unwritable', 'critical', 'audit', facts, ({ file, reason, lost, rejects, rejected }) => {
      const then = rejects
        ? `so requests are rejected (audit.onFailure: reject), and /ready says no${rejectedPhrase(rejected)}`
        : 'and requests are served (audit.onFailure: continue): their lines wait in memory while there is room'
      const lostPhrase = lost === 0 ? '' : `; ${pluralize(lost, 'line')} lost`
      return [`the audit log cannot be written to ${file}: ${reason}, ${then}${lostPhrase}`]
    })
  }
  const severity = rejected.lastMinute > 0 ? 'warning' : 'notice'
  return [
    audit?.disk?.low === true && lowDiskFinding(audit.file, audit.disk, rejects),
    rejected.last15Min > 0 &&
      finding('audit-was-unwritable', severity, 'audit', { rejected, since: rejected.firstAt }, ({ rejected }) => [
        `the audit log could not be written for a while${rejectedPhrase(rejected)}`,
      ]),
    audit !== null &&
      audit.lost > 0 &&
      finding('audit-lines-lost', 'notice', 'audit', { lost: audit.lost }, ({ lost }) => [
        `the audit log lacks ${pluralize(lost, 'line')}, and says where`,
      ]),
  ]
}

const lowDiskFinding = (file: string, disk: DiskSpaceState, rejects: boolean): Finding => {
  const facts = { file, ...disk, rejects, command: `df -h ${shellQuote(dirname(file))}` }
  return finding('audit-disk-low', 'warning', 'audit', facts, ({ freeBytes, sizeBytes, fullInSeconds, ...facts }) => {
    const full = fullInSeconds === null ? null : formatAge(fullInSeconds * 1000)
    const pace = full === null ? '' : `, and at the pace of the last hour it is full in ${full}`
    const then = facts.rejects
      ? 'requests are rejected when it is full (audit.onFailure: reject)'
      : 'lines wait in memory when it is full, up to 16 MiB, and are then lost (audit.onFailure: continue)'
    return [
      `the disk of the audit log ${facts.file} has ${formatRoundedSize(freeBytes)} free of ${formatRoundedSize(sizeBytes)}${pace}: ${then}`,
    ]
  })
}

const diskCommand = (file: string, reason: string): string | null => {
  if (!isAbsolute(file)) return null
  const folder = shellQuote(dirname(file))
  return reason.startsWith('ENOSPC') ? `df -h ${folder}; df -i ${folder}` : `ls -ld ${folder}`
}

export const findings: readonly PlacedFindings[] = [{ after: 'log', value: auditFindings }]

export const loadPage = () => import('./page.ts')

export const loadStatusTexts = () => import('./status-text.ts')
