import type { StatusText } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { formatAgo } from '../../core/lib/text/format-time.ts'
import { formatTable, type TableRow } from '../../core/lib/text/table.ts'
import { formatRoundedSize } from '../../core/lib/text/units.ts'
import type { Status } from '../../core/runtime/status/status-part.ts'

export const idempotencyRows = (status: NonNullable<Status['idempotency']>, at: number): readonly TableRow[] => {
  const { entries, maxEntries, bytes, maxBytes, inProgress, dropped, rejected } = status
  const isFull = entries !== null && maxEntries !== null && entries >= maxEntries
  const rows: readonly TableRow[] = [
    ['store', renderKeyStore(status, at)],
    ['keys', `${renderOfMost(entries, maxEntries, String)}${isFull ? ': FULL, no new key is stored' : ''}`],
    ['responses', renderOfMost(bytes, maxBytes, formatRoundedSize)],
    ['in progress', inProgress === null ? '' : `${inProgress}`],
    ['unknown', renderUnknownOutcomes(status, at)],
    ['dropped', dropped === 0 ? '' : `${dropped} responses, for lack of room, ${sinceStart}`],
    ['rejected', rejected === 0 ? '' : `${rejected} keys, for lack of room, ${sinceStart}`],
  ]
  return [['idempotency', 'now'], ...rows.filter(([, text]) => text !== '')]
}

const renderKeyStore = (
  { store, state, since, reason, where }: NonNullable<Status['idempotency']>,
  at: number,
): string => {
  if (state !== 'unavailable') return state === 'shared' ? `${store}, with other gateways` : `${store}, of this gateway`
  const here = where === null ? '' : ` ${where}`
  return `${store} CANNOT BE USED${here} since ${formatAgo(since, at)}${reason === null ? '' : `: ${reason}`}`
}

const renderUnknownOutcomes = ({ unknown, oldestUnknown }: NonNullable<Status['idempotency']>, at: number): string => {
  if (unknown === null) return ''
  return oldestUnknown === null ? `${unknown}` : `${unknown} OUTCOMES, the oldest ${formatAgo(oldestUnknown, at)}`
}

const renderOfMost = (value: number | null, most: number | null, format: (value: number) => string): string =>
  value === null ? '' : most === null ? format(value) : `${format(value)} of ${format(most)}`

export const texts: readonly StatusText[] = [
  {
    before: 'certificates',
    key: 'idempotency',
    render: ({ idempotency }, at) => idempotency && formatTable(idempotencyRows(idempotency, at)),
  },
]
