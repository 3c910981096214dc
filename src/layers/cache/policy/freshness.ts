import type { Fields } from '../../../fields.ts'
import { type Directive, deltaMs, secondsAsMs } from './cache-control.ts'
import { parseDate } from './http-date.ts'
import { joined, linesOf } from './list.ts'
import type { AnswerTimes } from './storing.ts'

/** Tells when an answer was made: by its Date; null: there is none that can be read. */
export const dateOf = (fields: Fields, now: number): number | null => {
  const [date] = linesOf(fields, 'date')
  return date === undefined ? null : parseDate(date, now)
}

/**
 * Tells how old an answer is when it arrives, in milliseconds (RFC 9111 §4.2.3): by its Date or by its Age, whichever says more. The time that it
 * was asked for counts as age. `date` is the answer's own; without one, the time of its arrival (RFC 9110 §6.6.1).
 */
export const initialAge = (fields: Fields, date: number, { requestedAt, receivedAt }: AnswerTimes): number => {
  const apparentAge = Math.max(0, receivedAt - date)
  const responseDelay = Math.max(0, receivedAt - requestedAt)
  return Math.max(apparentAge, ageValue(fields) + responseDelay)
}

/** RFC 9111 §5.1: of several the first counts, and what is no number is as if it were not there. */
const ageValue = (fields: Fields): number => {
  const [first = ''] = joined(fields, 'age')?.split(',') ?? []
  const ms = secondsAsMs(first.trim())
  return Number.isNaN(ms) ? 0 : ms
}

/**
 * Tells for how many milliseconds an answer says that it is fresh, for a shared cache (RFC 9111 §4.2.1); null: it does not say. What cannot be
 * read, or says two things, is not fresh at all.
 */
export const explicitLifetime = (
  fields: Fields,
  directives: readonly Directive[],
  date: number,
  now: number,
): number | null => {
  const ms = deltaMs(directives, 's-maxage') ?? deltaMs(directives, 'max-age') ?? expiresAfter(fields, date, now)
  return Number.isNaN(ms) ? 0 : ms
}

/** RFC 9111 §5.3: what is no date, `0` above all, is in the past. */
const expiresAfter = (fields: Fields, date: number, now: number): number | null => {
  const [expires, ...others] = linesOf(fields, 'expires')
  if (expires === undefined) return null
  const at = others.every((other) => other === expires) ? parseDate(expires, now) : null
  return at === null ? 0 : Math.max(0, at - date)
}

const dayMs = 24 * 3_600_000

/** Guesses for how long an answer is fresh: a tenth of the time that it has not been modified, a day at most (RFC 9111 §4.2.2). */
export const heuristicLifetime = (date: number, lastModifiedAt: number): number =>
  Math.min(dayMs, Math.max(0, date - lastModifiedAt) / 10)
