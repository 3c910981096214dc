import { type Fields, without } from '../../../fields.ts'
import { allows, cacheControl, type Directive, deltaMs, fieldsOf, restricts } from './cache-control.ts'
import { dateOf, explicitLifetime, heuristicLifetime, initialAge } from './freshness.ts'
import { writeDate } from './http-date.ts'
import { linesOf } from './list.ts'
import type { CacheRequest } from './request.ts'
import type { CacheRules } from './rules.ts'
import { selectingKey, varyNames } from './selecting.ts'
import { isHeuristicallyCacheable, isStorable, isUnderstood } from './statuses.ts'
import { bytesOf, type StoredHead } from './stored.ts'
import { hasValidator, validatorsOf } from './validators.ts'

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

/** Says why an answer is not stored. */
export type NotStored =
  | 'status'
  | 'no-store'
  | 'private'
  | 'authorization'
  | 'set-cookie'
  | 'vary'
  | 'no-freshness'
  | 'credentials'
  | 'useless'

/** Is the head that is stored, or why none is. */
export type Storable = { readonly head: StoredHead } | { readonly head: null; readonly not: NotStored }

const not = (why: NotStored): Storable => ({ head: null, not: why })

/**
 * Decides whether an answer may be stored, and computes all that is to be known of it, in the order of RFC 9111 §3. CDN-Cache-Control (RFC 9213)
 * and Pragma in answers are not read.
 */
export const storable = (
  request: CacheRequest,
  answer: AnswerHead,
  times: AnswerTimes,
  rules: CacheRules,
): Storable => {
  const { status, fields } = answer
  const directives = cacheControl(fields) ?? []
  const forbidden = forbiddenBy(request, status, directives)
  if (forbidden !== null) return not(forbidden)
  // §3.1: fields that are only for this client are left out, and so are those that would have to be validated each time.
  const isPrivate = fieldsOf(directives, 'private')
  if (isPrivate === 'all' || isPrivate?.some(isEssential)) return not('private')
  if (request.hasAuthorization && !allowsAuthorized(directives)) return not('authorization')
  // Not of the RFC (§7.3 only warns of it): a cookie is one client's, unless the answer is said to be everybody's.
  if (linesOf(fields, 'set-cookie').length > 0 && !allows(directives, 'public')) return not('set-cookie')
  const varies = varyNames(fields)
  if (varies === '*') return not('vary')

  const { receivedAt } = times
  const ownDate = dateOf(fields, receivedAt)
  const date = ownDate ?? receivedAt
  const validators = validatorsOf(fields, ownDate, receivedAt)
  const validated = fieldsOf(directives, 'no-cache')
  const noCache = validated === 'all' || validated?.some(isEssential) === true

  const explicit = explicitLifetime(fields, directives, date, receivedAt)
  const { lastModifiedAt } = validators
  const mayGuess = rules.heuristic && lastModifiedAt !== null && mayBeGuessed(status, directives)
  const isHeuristic = explicit === null && mayGuess
  if (explicit === null && !isHeuristic && !(noCache && hasValidator(validators))) return not('no-freshness')
  if (request.hasOtherCredentials && explicit === null) return not('credentials')
  const lifetime = explicit ?? (isHeuristic ? heuristicLifetime(date, lastModifiedAt ?? date) : 0)

  const bornAt = receivedAt - initialAge(fields, date, times)
  const freshUntil = bornAt + lifetime
  const mayBeStale = !noCache && !forbidsStale(directives)
  const staleFor = (ms: number): number => (mayBeStale ? freshUntil + ms : freshUntil)
  const kept = [...(isPrivate ?? []), ...(noCache ? [] : (validated ?? []))]
  const stored = storedFields(fields, kept, ownDate === null ? date : null)
  const head: StoredHead = {
    status,
    reason: answer.reason,
    fields: stored,
    date,
    receivedAt,
    bornAt,
    freshUntil,
    isHeuristic,
    noCache,
    mayBeStale,
    staleWhileRevalidateUntil: staleFor(window(directives, 'stale-while-revalidate', rules.staleWhileRevalidateMs)),
    staleIfErrorUntil: staleFor(window(directives, 'stale-if-error', rules.staleIfErrorMs)),
    staleWhenDisconnectedUntil: staleFor(rules.staleWhenDisconnectedMs),
    varies,
    selecting: selectingKey(varies, request),
    ...validators,
    bytes: 0,
  }
  if (!isOfUse(head)) return not('useless')
  return { head: { ...head, bytes: bytesOf(head) } }
}

/** Tells what forbids to store the answer, whatever else it says. */
const forbiddenBy = (request: CacheRequest, status: number, directives: readonly Directive[]): NotStored | null => {
  if (!isStorable(status)) return 'status'
  // It is about a part that this request alone has asked for.
  if (status === 416 && request.range !== null) return 'status'
  // §5.2.2.3: whoever understands the status is to store what others are told not to.
  if (restricts(directives, 'must-understand') && !isUnderstood(status)) return 'status'
  if (restricts(directives, 'no-store') && !allows(directives, 'must-understand')) return 'no-store'
  return request.noStore ? 'no-store' : null // §5.2.1.5
}

/** RFC 9111 §3.5 */
const allowsAuthorized = (directives: readonly Directive[]): boolean =>
  allows(directives, 'must-revalidate') || allows(directives, 'public') || Number.isFinite(sharedMaxAge(directives))

/** §4.2.4: these forbid to serve it stale; `s-maxage` means `proxy-revalidate` as well (§5.2.2.10). */
const forbidsStale = (directives: readonly Directive[]): boolean =>
  restricts(directives, 'must-revalidate') ||
  restricts(directives, 'proxy-revalidate') ||
  sharedMaxAge(directives) !== null

const sharedMaxAge = (directives: readonly Directive[]): number | null => deltaMs(directives, 's-maxage')

/** §4.2.2: by its status, or because it says that it may be cached. */
const mayBeGuessed = (status: number, directives: readonly Directive[]): boolean =>
  isHeuristicallyCacheable(status) || allows(directives, 'public')

/** Without these, what is stored could not be read any more, or not be told from what is meant for others: they are not left out of it. */
const isEssential = (name: string): boolean =>
  name === 'vary' || name === 'cache-control' || name.startsWith('content-')

/** The answer's own word counts before the configuration's; what cannot be read allows nothing (RFC 5861 §3, §4). */
const window = (directives: readonly Directive[], name: string, configuredMs: number | null): number => {
  const ms = deltaMs(directives, name) ?? configuredMs ?? 0
  return Number.isNaN(ms) ? 0 : ms
}

/** Lists what is stored of the fields. Age is computed anew (§4), and a Date is added where there was none (RFC 9110 §6.6.1). */
const storedFields = (fields: Fields, left: readonly string[], date: number | null): Fields => {
  const stored = without(fields, new Set(['age', ...left, ...(date === null ? [] : ['date'])]))
  if (date !== null) stored.push('Date', writeDate(date))
  return stored
}

/** Tells whether it is of use to anybody but a client that accepts whatever is stale: served as it is, now or later, or validated. */
const isOfUse = (head: StoredHead): boolean => {
  if (hasValidator(head)) return true
  if (head.noCache) return false
  const { receivedAt, freshUntil, staleWhileRevalidateUntil, staleIfErrorUntil, staleWhenDisconnectedUntil } = head
  const end = Math.max(freshUntil, staleWhileRevalidateUntil, staleIfErrorUntil, staleWhenDisconnectedUntil)
  return receivedAt < end
}
