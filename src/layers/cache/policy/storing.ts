import { type Fields, without } from '../../../fields.ts'
import { allows, cacheControl, type Directive, deltaMs, restricts } from './cache-control.ts'
import { type AnswerHead, type AnswerTimes, heuristicLifetime, initialAge, type Told, toldBy } from './freshness.ts'
import { writeDate } from './http-date.ts'
import { linesOf } from './list.ts'
import type { CacheRequest, CacheRules } from './request.ts'
import { selectingKey, varyNames } from './selecting.ts'
import { isServerError, isStorable, isUnderstood } from './statuses.ts'
import { bytesOf, type StoredHead, servedUntil } from './stored.ts'
import { hasValidator } from './validators.ts'

/** Says why an answer is not stored: `detail` of Cache-Status (RFC 9211 §2.8). Of the words, none says more than the answer itself, or its length. */
export type NotStored =
  | 'status'
  | 'no-store'
  | 'private'
  | 'authorization'
  | 'set-cookie'
  | 'vary'
  | 'no-lifetime'
  | 'credentials'
  | 'already-stale'
  | 'bad-length'
  | 'too-large'
  | 'no-room'
  | 'stale-if-error'

/** Is the head that is stored, or why none is. */
export type Storable = { readonly head: StoredHead } | { readonly head: null; readonly not: NotStored }

const not = (why: NotStored): Storable => ({ head: null, not: why })

/**
 * Decides whether an answer may be stored, in the order of RFC 9111 §3, and computes all that is to be known of it. CDN-Cache-Control (RFC 9213)
 * and Pragma in answers are not read.
 */
export const storable = (
  request: CacheRequest,
  answer: AnswerHead,
  times: AnswerTimes,
  rules: CacheRules,
): Storable => {
  const directives = cacheControl(answer.fields) ?? []
  const told = toldBy(answer, directives, times.receivedAt, rules)
  const forbidden =
    forbiddenBy(request, answer.status, directives) ?? onlyFor(request, answer, told) ?? unusable(request, told)
  if (forbidden !== null) return not(forbidden)
  const varies = varyNames(answer.fields)
  if (varies === '*') return not('vary') // §4.1: it matches no request
  const head = headOf(request, answer, told, varies, times, rules)
  return isOfUse(head) ? { head } : not('already-stale')
}

/** Tells what forbids to store an answer, whoever it is for. */
const forbiddenBy = (request: CacheRequest, status: number, directives: readonly Directive[]): NotStored | null => {
  if (!isStorable(status)) return 'status'
  // It is about a part that this request alone has asked for.
  if (status === 416 && request.range !== null) return 'status'
  // §5.2.2.3: whoever understands the status is to store what others are told not to.
  if (restricts(directives, 'must-understand') && !isUnderstood(status)) return 'status'
  if (restricts(directives, 'no-store') && !allows(directives, 'must-understand')) return 'no-store'
  return request.noStore ? 'no-store' : null // §5.2.1.5
}

/** Tells by what an answer is for one client alone. */
const onlyFor = (request: CacheRequest, { fields }: AnswerHead, { directives, isPrivate }: Told): NotStored | null => {
  if (isPrivate) return 'private'
  if (request.hasAuthorization && !allowsAuthorized(directives)) return 'authorization'
  // Not of the RFC (§7.3 only warns of it): a cookie is one client's, unless the answer is said to be everybody's.
  return linesOf(fields, 'set-cookie').length > 0 && !allows(directives, 'public') ? 'set-cookie' : null
}

/** §3.5 */
const allowsAuthorized = (directives: readonly Directive[]): boolean =>
  allows(directives, 'must-revalidate') ||
  allows(directives, 'public') ||
  Number.isFinite(deltaMs(directives, 's-maxage'))

/** Tells what an answer does not say that has to be known. Where there are credentials, a guess is not enough. */
const unusable = (request: CacheRequest, { explicitMs, isGuessed, noCache, validators }: Told): NotStored | null => {
  if (explicitMs !== null) return null
  if (!isGuessed && !(noCache && hasValidator(validators))) return 'no-lifetime'
  return request.hasOtherCredentials ? 'credentials' : null
}

/** Tells whether it is of use to anybody but a client that accepts whatever is stale: served as it is, now or later, or validated. */
const isOfUse = (head: StoredHead): boolean =>
  hasValidator(head) || (!head.noCache && head.receivedAt < servedUntil(head))

/** Computes all that a hit has to know of an answer that may be stored. `varies`: by which fields of the request. */
const headOf = (
  request: CacheRequest,
  { status, reason, fields }: AnswerHead,
  told: Told,
  varies: readonly string[],
  times: AnswerTimes,
  rules: CacheRules,
): StoredHead => {
  const { directives, date, noCache } = told
  const bornAt = times.receivedAt - initialAge(fields, date, times)
  const freshUntil = bornAt + lifetimeOf(told)
  // RFC 9111 §4.2.4 leaves it to the cache: in place of a failure, an older failure helps no client.
  const mayBeStale = !noCache && !forbidsStale(directives) && !isServerError(status)
  const staleFor = (ms: number): number => (mayBeStale ? freshUntil + ms : freshUntil)
  const head = {
    status,
    reason,
    fields: keptOf(fields, told),
    date,
    receivedAt: times.receivedAt,
    bornAt,
    freshUntil,
    isHeuristic: told.isGuessed,
    noCache,
    mayBeStale,
    staleWhileRevalidateUntil: staleFor(span(directives, 'stale-while-revalidate', rules.staleWhileRevalidate)),
    staleIfErrorUntil: staleFor(span(directives, 'stale-if-error', rules.staleIfError)),
    staleWhenDisconnectedUntil: staleFor(rules.staleWhenDisconnected),
    varies,
    selecting: selectingKey(varies, request),
    ...told.validators,
  }
  return { ...head, bytes: bytesOf(head) }
}

const lifetimeOf = ({ explicitMs, isGuessed, date, validators }: Told): number => {
  if (explicitMs !== null) return explicitMs
  return isGuessed && validators.lastModifiedAt !== null ? heuristicLifetime(date, validators.lastModifiedAt) : 0
}

/** RFC 9111 §4.2.4: these forbid to serve it stale; `s-maxage` means `proxy-revalidate` as well (§5.2.2.10). */
const forbidsStale = (directives: readonly Directive[]): boolean =>
  restricts(directives, 'must-revalidate') ||
  restricts(directives, 'proxy-revalidate') ||
  restricts(directives, 's-maxage')

/** The answer's own word counts before the configuration's; what cannot be read allows nothing (RFC 5861 §3, §4). */
const span = (directives: readonly Directive[], name: string, configuredMs: number | null): number => {
  const ms = deltaMs(directives, name) ?? configuredMs ?? 0
  return Number.isNaN(ms) ? 0 : ms
}

/** Lists what is kept of the fields (§3.1). Age is computed anew (§4), and a Date is added where none can be read (RFC 9110 §6.6.1). */
const keptOf = (fields: Fields, { withheld, isDated, date }: Told): Fields => {
  if (isDated) return without(fields, new Set(['age', ...withheld]))
  return [...without(fields, new Set(['age', 'date', ...withheld])), 'Date', writeDate(date)]
}
