import type { HeaderFields } from '../../../header-fields.ts'
import { allows, type CacheDirective, directiveFields, parseDeltaMs, parseDeltaSeconds } from './cache-control.ts'
import type { CacheRules } from './cache-request.ts'
import { fieldLines, joinFieldLines } from './header-list.ts'
import { parseHttpDate } from './http-date.ts'
import { isHeuristicallyCacheable } from './status-codes.ts'
import { parseValidators } from './validators.ts'

/** Is the head of an answer as it came: end-to-end fields only. */
export interface ReceivedHead {
  readonly status: number
  readonly reason: string
  readonly fields: HeaderFields
}

/** Is when a request went out and when the head of its answer came, on the wall clock, in milliseconds. */
export interface ResponseTimes {
  readonly requestedAt: number
  readonly receivedAt: number
}

/** Tells when an answer was made: by its Date; null: there is none that can be read. */
export const readDate = (fields: HeaderFields, now: number): number | null => {
  const [date] = fieldLines(fields, 'date')
  return date === undefined ? null : parseHttpDate(date, now)
}

/**
 * Tells how old an answer is when it arrives, in milliseconds (RFC 9111 §4.2.3): by its Date or by its Age, whichever says more. The time that it
 * was asked for counts as age. `date` is the answer's own; without one, the time of its arrival (RFC 9110 §6.6.1).
 */
export const initialAge = (fields: HeaderFields, date: number, { requestedAt, receivedAt }: ResponseTimes): number => {
  const apparentAge = Math.max(0, receivedAt - date)
  const responseDelay = Math.max(0, receivedAt - requestedAt)
  return Math.max(apparentAge, readAge(fields) + responseDelay)
}

/** RFC 9111 §5.1: of several the first counts, and what is no number is as if it were not there. */
const readAge = (fields: HeaderFields): number => {
  const [first = ''] = joinFieldLines(fields, 'age')?.split(',') ?? []
  const ms = parseDeltaSeconds(first.trim())
  return Number.isNaN(ms) ? 0 : ms
}

/**
 * Tells for how many milliseconds an answer says that it is fresh, for a shared cache (RFC 9111 §4.2.1); null: it does not say. What cannot be
 * read, or says two things, is not fresh at all.
 */
export const explicitLifetime = (
  fields: HeaderFields,
  directives: readonly CacheDirective[],
  date: number,
  now: number,
): number | null => {
  const ms =
    parseDeltaMs(directives, 's-maxage') ?? parseDeltaMs(directives, 'max-age') ?? expiresAfter(fields, date, now)
  return Number.isNaN(ms) ? 0 : ms
}

/** RFC 9111 §5.3: what is no date, `0` above all, is in the past. */
const expiresAfter = (fields: HeaderFields, date: number, now: number): number | null => {
  const [expires, ...others] = fieldLines(fields, 'expires')
  if (expires === undefined) return null
  const at = others.every((other) => other === expires) ? parseHttpDate(expires, now) : null
  return at === null ? 0 : Math.max(0, at - date)
}

const dayMs = 24 * 3_600_000

/** Guesses for how long an answer is fresh: a tenth of the time that it has not been modified, a day at most (RFC 9111 §4.2.2). */
export const heuristicLifetime = (date: number, lastModifiedAt: number): number =>
  Math.min(dayMs, Math.max(0, date - lastModifiedAt) / 10)

/** What an answer says of itself. */
export type ResponseMetadata = ReturnType<typeof readMetadata>

/** Reads what an answer says of itself, as far as that is what a cache goes by. */
export const readMetadata = (
  { status, fields }: ReceivedHead,
  directives: readonly CacheDirective[],
  receivedAt: number,
  { heuristic }: CacheRules,
) => {
  const ownDate = readDate(fields, receivedAt)
  const date = ownDate ?? receivedAt
  const validators = parseValidators(fields, ownDate, receivedAt)
  const privateFields = directiveFields(directives, 'private')
  const noCacheFields = directiveFields(directives, 'no-cache')
  const explicitMs = explicitLifetime(fields, directives, date, receivedAt)
  // §4.2.2: by its status, or because it says that it may be cached.
  const mayBeHeuristic = isHeuristicallyCacheable(status) || allows(directives, 'public')
  return {
    directives,
    /** Whether it is one client's alone (RFC 9111 §5.2.2.7). */
    isPrivate: coversAll(privateFields),
    /** Whether it has to be validated each time (§5.2.2.4). */
    noCache: coversAll(noCacheFields),
    /** Which fields are one client's, or would have to be validated each time, where the rest is neither; lower case (§3.1). */
    withheld: [...listed(privateFields), ...listed(noCacheFields)],
    /** Whether it has a Date that can be read. */
    isDated: ownDate !== null,
    /** Its Date, or when it came (RFC 9110 §6.6.1). */
    date,
    validators,
    /** For how long it says that it is fresh; null: it does not say (§4.2.1). */
    explicitMs,
    /** Whether that may be guessed, from when it was modified (§4.2.2). */
    isHeuristic: heuristic && explicitMs === null && validators.lastModifiedAt !== null && mayBeHeuristic,
  }
}

type NamedFields = readonly string[] | 'all' | null

/** Tells whether a directive is about the whole answer: without what it names, the rest could not be read, or not be kept as it should. */
const coversAll = (named: NamedFields): boolean => named === 'all' || (named?.some(isEssential) ?? false)

const listed = (named: NamedFields): readonly string[] => (coversAll(named) || named === 'all' ? [] : (named ?? []))

const essential = new Set(['cache-control', 'date', 'etag', 'expires', 'last-modified', 'vary'])

const isEssential = (name: string): boolean => essential.has(name) || name.startsWith('content-')
