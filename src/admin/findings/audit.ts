import { counted, tallyOf } from './counted.ts'
import { type Finding, finding } from './finding.ts'
import type { Reading } from './reading.ts'

/** Finds why there is no record. */
export const auditFindings = ({ audit, config, report }: Reading): readonly Finding[] => {
  const refused = tallyOf(report.refusals.causes.filter(({ kind }) => kind === 'audit-unavailable'))
  const held = refused.lastQuarter === 0 ? '' : `: ${counted(refused, 'refused')}`
  if (audit !== null && audit.reason !== null) {
    const then =
      config.audit?.onFailure === 'refuse'
        ? 'so requests are refused (audit.onFailure: refuse), and /ready says no'
        : 'and requests go on without a record (audit.onFailure: continue)'
    const cause = `the audit log cannot be written to ${audit.file}: ${audit.reason}, ${then}${held}${lostOf(audit.lost)}`
    return [finding('critical', 'audit', cause, { since: audit.since })]
  }
  const found: Finding[] = []
  if (refused.lastQuarter > 0) {
    const cause = `the audit log could not be written for a while${held}`
    found.push(finding(refused.lastMinute > 0 ? 'warning' : 'notice', 'audit', cause, { since: refused.firstAt }))
  }
  if (audit !== null && audit.lost > 0)
    found.push(
      finding('notice', 'audit', `the audit log lacks ${audit.lost} lines, and says so where they would stand`),
    )
  return found
}

const lostOf = (lines: number): string => (lines === 0 ? '' : `; ${lines} lines are lost`)
