import type { StatusText } from '../../../core/admin/admin-part.ts'
import { pluralize } from '../../../core/admin/commands/phrases.ts'
import { formatAgo } from '../../../core/lib/text/format-time.ts'
import { formatTable, type TableRow } from '../../../core/lib/text/table.ts'
import type { Status } from '../../../core/runtime/status/status-part.ts'

const tokenRows = ({ jwt, introspection, operators, proofs }: Status['tokens'], at: number): readonly TableRow[] => [
  ['tokens', 'now'],
  ...(jwt === null ? [] : [['jwt', renderKeys(jwt, at)]]),
  ...(introspection === null ? [] : [['introspection', renderFailure(introspection, at) ?? 'responds']]),
  ...(operators === null ? [] : [['operators', renderKeys(operators, at)]]),
  ...(proofs === null ? [] : [['proofs', renderProofs(proofs)]]),
]

// One client may use half of the room.
const renderProofs = ({ remembered, room }: NonNullable<Status['tokens']['proofs']>): string =>
  `${remembered} remembered, ${2 * remembered < room ? 'room' : 'ROOM'} for ${room}`

const renderKeys = (jwt: NonNullable<Status['tokens']['jwt']>, at: number): string => {
  const keys = jwt.keys === 0 ? 'NO KEYS' : pluralize(jwt.keys, 'key')
  if (jwt.source === 'file') return `${keys}, from a file`
  const fetched = jwt.lastSuccess === null ? 'never fetched' : `fetched ${formatAgo(jwt.lastSuccess, at)}`
  const failure = renderFailure(jwt, at)
  // During the first fetch no failure names the workers.
  if (failure === null) return `${keys}${jwt.keys > 0 || jwt.where === null ? '' : ` ${jwt.where}`}, ${fetched}`
  return `${keys}, ${fetched}; ${failure}`
}

type Health = NonNullable<Status['tokens']['introspection']>

const renderFailure = ({ error, since, where }: Health, at: number): string | null =>
  error === null ? null : `FAILS${where === null ? '' : ` ${where}`} since ${formatAgo(since, at)}: ${error}`

export const texts: readonly StatusText[] = [
  {
    after: 'upstreams',
    key: 'tokens',
    render({ tokens }, at) {
      const rows = tokenRows(tokens, at)
      return rows.length > 1 ? formatTable(rows) : null
    },
  },
]
