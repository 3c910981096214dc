import type { StatusText } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { formatAgo } from '../../core/lib/text/format-time.ts'
import { formatTable, type TableRow } from '../../core/lib/text/table.ts'
import type { Status } from '../../core/runtime/status/status-part.ts'

export const limitRows = ({ rate, concurrency, eventLoop }: Status['limits'], at: number): readonly TableRow[] => [
  ['limit', 'now'],
  ...(rate === null ? [] : [rateRow(rate, at)]),
  ...concurrency.map(({ key, inFlight, limit }): TableRow => {
    const full = inFlight >= limit ? ': FULL, new requests are rejected' : ''
    return [key, `${inFlight} of ${limit} in flight${full}`]
  }),
  ...(eventLoop === null ? [] : [eventLoopRow(eventLoop, at)]),
]

type Limits = Status['limits']

const rateRow = (rate: NonNullable<Limits['rate']>, at: number): TableRow => {
  const { store, server, state, since, where, evictions } = rate
  const here = where === null ? '' : ` ${where}`
  const redisText =
    state === 'shared'
      ? `by redis (${server}), with other gateways`
      : `REDIS (${server}) CANNOT BE USED${here} since ${formatAgo(since, at)}: counted here`
  const forgotten = evictions === 0 ? '' : `; ${evictions} keys forgotten for lack of room ${sinceStart}`
  return ['counts', `${store === 'redis' ? redisText : 'counted in memory'}${forgotten}`]
}

const eventLoopRow = (eventLoop: NonNullable<Limits['eventLoop']>, at: number): TableRow => {
  const { delayMs, limitMs, sheds, since, where } = eventLoop
  const late = `${delayMs} of ${limitMs} ms late`
  const shed = sheds ? `: SHEDS LOAD${where === null ? '' : ` ${where}`} since ${formatAgo(since, at)}` : ''
  return ['limits.eventLoopDelay', `${late}${shed}`]
}

const applicableLimits = ({ concurrency, eventLoop }: Status['limits'], owners: readonly string[]) => ({
  rate: null,
  concurrency: concurrency.filter(({ key }) => owners.some((owner) => key === `${owner}.concurrency`)),
  eventLoop: eventLoop?.sheds ? eventLoop : null,
})

export const texts: readonly StatusText[] = [
  {
    after: 'upstreams',
    key: 'limits',
    render({ limits }, at) {
      const rows = limitRows(limits, at)
      return rows.length > 1 ? formatTable(rows) : null
    },
    inTop: true,
    ofOperation: ({ limits }, { id, group }) =>
      applicableLimits(limits, [`upstreams.${group}`, `operations.${id}`, 'limits']),
  },
]
