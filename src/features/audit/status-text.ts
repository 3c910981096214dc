import type { StatusFact } from '../../core/admin/admin-part.ts'
import { pluralize, sinceStart } from '../../core/admin/commands/phrases.ts'
import { formatAgo } from '../../core/lib/text/format-time.ts'
import { formatRoundedSize } from '../../core/lib/text/units.ts'
import type { Status } from '../../core/runtime/status/status-part.ts'

const renderAudit = ({ file, count, since, reason, lost, disk }: NonNullable<Status['audit']>, at: number): string => {
  const missing = lost === 0 ? '' : `, ${lost} LINES LOST ${sinceStart}`
  if (reason !== null) return `NOT WRITTEN since ${formatAgo(since, at)}: ${reason}${missing}`
  const free = disk === null ? '' : `, and its disk ${formatRoundedSize(disk.freeBytes)} free`
  return `the chain in ${file} has ${pluralize(count, 'line')}${missing}${free}`
}

export const facts: readonly StatusFact[] = [
  { label: 'audit', render: ({ audit }, at) => audit && renderAudit(audit, at) },
]
