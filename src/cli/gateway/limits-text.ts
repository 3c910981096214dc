import type { LimitsStatus } from './answers.ts'
import { ago } from './span.ts'
import type { Row } from './table.ts'

/** Writes how near the gateway is to what it takes on at most; what needs somebody is in capitals. */
export const limitRows = ({ concurrency, eventLoop }: LimitsStatus, at: number): readonly Row[] => [
  ['limit', 'now'],
  ...concurrency.map(({ key, inFlight, limit }): Row => {
    const full = inFlight >= limit ? ': FULL, what comes is refused' : ''
    return [key, `${inFlight} of ${limit} in flight${full}`]
  }),
  ...(eventLoop === null ? [] : [eventLoopRow(eventLoop, at)]),
]

const eventLoopRow = (
  { delayMs, limitMs, sheds, since, where }: NonNullable<LimitsStatus['eventLoop']>,
  at: number,
): Row => {
  const late = `${delayMs} of ${limitMs} ms late`
  const shed = sheds ? `: SHEDS LOAD${where === null ? '' : ` ${where}`} since ${ago(since, at)}` : ''
  return ['limits.eventLoopDelay', `${late}${shed}`]
}
