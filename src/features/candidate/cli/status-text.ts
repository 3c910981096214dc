import type { GroupRows } from '../../../core/admin/admin-part.ts'
import { labelRows, sideRows } from '../../../core/admin/api/endpoint-rows.ts'
import { sinceStart } from '../../../core/admin/commands/phrases.ts'
import { formatAgo, timesBeside } from '../../../core/lib/text/format-time.ts'
import type { TableRow } from '../../../core/lib/text/table.ts'
import type { UpstreamStatus } from '../../../core/runtime/status/upstreams.ts'
import { describeShift } from '../shift/shift-state.ts'
import { describeEqual, describeShadow } from '../status/describe-comparison.ts'

type CandidateStatus = NonNullable<UpstreamStatus['candidate']>

export const candidateRows = (group: string, candidate: CandidateStatus, at: number): readonly TableRow[] => {
  const { shadow, comparison, shift } = candidate
  const rows: readonly (TableRow | null)[] = [
    shadow && ['copies', '', `${shadow.underWay}`, `${describeShadow(shadow)} ${sinceStart}`],
    comparison && ['compared', '', '', renderCompared(comparison, at)],
    shift && ['share', '', '', describeShift(shift, timesBeside(at))],
  ]
  return labelRows(`${group} candidate`, [...sideRows(candidate, at), ...rows.filter((row) => row !== null)])
}

const renderCompared = ({ since, ...comparison }: NonNullable<CandidateStatus['comparison']>, at: number): string => {
  const begun = since === null ? '' : ` since ${formatAgo(since, at)}`
  return `${describeEqual(comparison)}${begun}; in the last 5 minutes ${describeEqual(comparison.recent)}`
}

export const groupRows: GroupRows = (group, { candidate }, at) =>
  candidate === null ? [] : candidateRows(group, candidate, at)
