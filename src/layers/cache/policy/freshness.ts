import type { Fields } from '../../../fields.ts'
import { allows, type Directive, deltaMs, fieldsOf, secondsAsMs } from './cache-control.ts'
import { parseDate } from './http-date.ts'
import { joined, linesOf } from './list.ts'
import type { CacheRules } from './request.ts'
import { isHeuristicallyCacheable } from './statuses.ts'
import { validatorsOf } from './validators.ts'

/** Is the head of an answer as it came: end-to-end fields only. */
export interface AnswerHead {
  readonly status: number
  readonly reason: string
  readonly fields: Fields
}

/** Is when a request went out and when the head of its answer came, on the wall clock, in milliseconds. */
export interface AnswerTimes {
  readonly requestedAt: number
  readonly receivedAt: number
}

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

/** What an answer says of itself. */
export type Told = ReturnType<typeof toldBy>

/** Reads what an answer says of itself, as far as that is what a cache goes by. */
export const toldBy = (
  { status, fields }: AnswerHead,
  directives: readonly Directive[],
  receivedAt: number,
  { heuristic }: CacheRules,
) => {
  const ownDate = dateOf(fields, receivedAt)
  const date = ownDate ?? receivedAt
  const validators = validatorsOf(fields, ownDate, receivedAt)
  const ofOne = fieldsOf(directives, 'private')
  const validated = fieldsOf(directives, 'no-cache')
  const explicitMs = explicitLifetime(fields, directives, date, receivedAt)
  // §4.2.2: by its status, or because it says that it may be cached.
  const mayBeGuessed = isHeuristicallyCacheable(status) || allows(directives, 'public')
  return {
    directives,
    /** Whether it is one client's alone (RFC 9111 §5.2.2.7). */
    isPrivate: isOfAll(ofOne),
    /** Whether it has to be validated each time (§5.2.2.4). */
    noCache: isOfAll(validated),
    /** Which fields are one client's, or would have to be validated each time, where the rest is neither; lower case (§3.1). */
    withheld: [...listed(ofOne), ...listed(validated)],
    /** Whether it has a Date that can be read. */
    isDated: ownDate !== null,
    /** Its Date, or when it came (RFC 9110 §6.6.1). */
    date,
    validators,
    /** For how long it says that it is fresh; null: it does not say (§4.2.1). */
    explicitMs,
    /** Whether that may be guessed, from when it was modified (§4.2.2). */
    isGuessed: heuristic && explicitMs === null && validators.lastModifiedAt !== null && mayBeGuessed,
  }
}

type Named = readonly string[] | 'all' | null

/** Tells whether a directive is about the whole answer: without what it names, the rest could not be read, or not be kept as it should. */
const isOfAll = (named: Named): boolean => named === 'all' || (named?.some(isEssential) ?? false)

const listed = (named: Named): readonly string[] => (isOfAll(named) || named === 'all' ? [] : (named ?? []))

const essential = new Set(['cache-control', 'date', 'etag', 'expires', 'last-modified', 'vary'])

const isEssential = (name: string): boolean => essential.has(name) || name.startsWith('content-')
