import type { StatusText } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { formatAgo } from '../../core/lib/text/format-time.ts'
import { formatTable, type TableRow } from '../../core/lib/text/table.ts'
import { formatRoundedSize } from '../../core/lib/text/units.ts'
import type { Status } from '../../core/runtime/status/status-part.ts'

/** Capitals mark rows that need an operator. */
const cacheRows = (
  { bytes, maxBytes, redis, operations }: NonNullable<Status['cache']>,
  at: number,
): readonly TableRow[] => [
  ['cache', 'entries', 'bytes', `hits ${sinceStart}`],
  ...Object.entries(operations).map(([id, { bytes, entries, hitRatio }]): TableRow => {
    const hits = hitRatio === null ? 'no requests' : `${(hitRatio * 100).toFixed(1)}%`
    return [id, `${entries}`, formatRoundedSize(bytes), hits]
  }),
  // More than the sum: responses that are arriving, or still read, count too.
  ['total', '', `${formatRoundedSize(bytes)} of ${formatRoundedSize(maxBytes)}`],
  ...(redis === null ? [] : [['redis', '', '', renderRedis(redis, at)]]),
]

const renderRedis = (
  { server, state, since, reason, where }: NonNullable<NonNullable<Status['cache']>['redis']>,
  at: number,
): string => {
  if (state === 'shared') return `shared with other gateways (${server})`
  const here = where === null ? '' : ` ${where}`
  return `${server} CANNOT BE USED${here} since ${formatAgo(since, at)}${reason === null ? '' : `: ${reason}`}`
}

export const texts: readonly StatusText[] = [
  { before: 'certificates', key: 'cache', render: ({ cache }, at) => cache && formatTable(cacheRows(cache, at)) },
]
