import type { Status } from '../../admin/api/status.ts'
import type { TableRow } from './output.ts'
import { labelRows, sideRows } from './side-rows.ts'
import { statusGroupRows } from './status-texts.ts'

export const upstreamRows = (upstreams: Status['upstreams'], at: number): readonly TableRow[] => [
  ['group', 'endpoint', 'weight', 'in flight', 'state'],
  ...Object.entries(upstreams).flatMap(([group, upstream]) => [
    ...labelRows(group, sideRows(upstream, at)),
    ...statusGroupRows.flatMap((rows) => rows(group, upstream, at)),
  ]),
]
