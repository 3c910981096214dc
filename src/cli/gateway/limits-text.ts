import type { LimitsStatus } from './limits-answer.ts'
import { ago } from './span.ts'
import type { Row } from './table.ts'

/** Writes how near the gateway is to what it takes on at most; what needs somebody is in capitals. */
export const limitRows = ({ rate, concurrency, eventLoop }: LimitsStatus, at: number): readonly Row[] => [
  ['limit', 'now'],
  ...(rate === null ? [] : [rateRow(rate, at)]),
  ...concurrency.map(({ key, inFlight, limit }): Row => {
    const full = inFlight >= limit ? ': FULL, what comes is refused' : ''
    return [key, `${inFlight} of ${limit} in flight${full}`]
  }),
  ...(eventLoop === null ? [] : [eventLoopRow(eventLoop, at)]),
]

const rateRow = ({ store, state, since, where, evictions }: NonNullable<LimitsStatus['rate']>, at: number): Row => {
  const here = where === null ? '' : ` ${where}`
  const alone =
    state === 'shared'
      ? 'by redis, with other gateways'
      : `REDIS IS OF NO USE${here} since ${ago(since, at)}: counted here`
  const forgotten = evictions === 0 ? '' : `; ${evictions} keys forgotten for want of room`
  return ['rates', `${store === 'redis' ? alone : 'counted in memory'}${forgotten}`]
}

const eventLoopRow = (
  { delayMs, limitMs, sheds, since, where }: NonNullable<LimitsStatus['eventLoop']>,
  at: number,
): Row => {
  const late = `${delayMs} of ${limitMs} ms late`
  const shed = sheds ? `: SHEDS LOAD${where === null ? '' : ` ${where}`} since ${ago(since, at)}` : ''
  return ['limits.eventLoopDelay', `${late}${shed}`]
}
