import { dirname, isAbsolute } from 'node:path'
import { pluralize } from '../../core/admin/commands/phrases.ts'
import { rejectedPhrase, tallyRejected } from '../../core/admin/findings/failure-phrases.ts'
import { type Finding, type FindingSource, finding } from '../../core/admin/findings/finding.ts'
import { shellQuote } from '../../core/lib/program.ts'
import { formatAge, formatRoundedSize } from '../../core/lib/text/units.ts'

/** Finds why the audit log has gaps, or will have. */
export const auditFindings: FindingSource = ({ parts, config, report }) => {
  const audit = parts.audit.state
  const refused = tallyRejected(report, 'audit-unavailable')
  // An edit to `continue` ends an outage: what was refused before it is over, and its lines are not lost either.
  const refuses = config.audit?.onFailure === 'refuse'
  if (audit !== null && audit.reason !== null) {
    const facts = { ...audit, refuses, refused, command: diskCommand(audit.file, audit.reason) }
    return finding('audit-unwritable', 'critical', 'audit', facts, ({ file, reason, lost, refuses, refused }) => {
      const then = refuses
        ? `so requests are refused (audit.onFailure: refuse), and /ready says no${rejectedPhrase(refused)}`
        : 'and requests are served (audit.onFailure: continue): their lines wait in memory while there is room'
      const lostPhrase = lost === 0 ? '' : `; ${pluralize(lost, 'line')} lost`
      return [`the audit log cannot be written to ${file}: ${reason}, ${then}${lostPhrase}`]
    })
  }
  const found: Finding[] = []
  if (audit?.disk?.low === true) {
    const { file, disk } = audit
    const facts = { file, ...disk, refuses, command: `df -h ${shellQuote(dirname(file))}` }
    found.push(
      finding('audit-disk-low', 'warning', 'audit', facts, ({ file, freeBytes, sizeBytes, fullInSeconds, refuses }) => {
        const full = fullInSeconds === null ? null : formatAge(fullInSeconds * 1000)
        const pace = full === null ? '' : `, and at the pace of the last hour it is full in ${full}`
        const then = refuses
          ? 'requests are refused when it is full (audit.onFailure: refuse)'
          : 'lines wait in memory when it is full, up to 16 MiB, and are then lost (audit.onFailure: continue)'
        return [
          `the disk of the audit log ${file} has ${formatRoundedSize(freeBytes)} free of ${formatRoundedSize(sizeBytes)}${pace}: ${then}`,
        ]
      }),
    )
  }
  if (refused.last15Min > 0) {
    const severity = refused.lastMinute > 0 ? 'warning' : 'notice'
    const facts = { refused, since: refused.firstAt }
    found.push(
      finding('audit-was-unwritable', severity, 'audit', facts, ({ refused }) => [
        `the audit log could not be written for a while${rejectedPhrase(refused)}`,
      ]),
    )
  }
  if (audit !== null && audit.lost > 0)
    found.push(
      finding('audit-lines-lost', 'notice', 'audit', { lost: audit.lost }, ({ lost }) => [
        `the audit log lacks ${pluralize(lost, 'line')}, and says where`,
      ]),
    )
  return found
}

/** Formats the command that shows why a file cannot be written: no bytes or inodes are left, or who may write there. */
const diskCommand = (file: string, reason: string): string | null => {
  if (!isAbsolute(file)) return null
  const folder = shellQuote(dirname(file))
  return reason.startsWith('ENOSPC') ? `df -h ${folder}; df -i ${folder}` : `ls -ld ${folder}`
}
