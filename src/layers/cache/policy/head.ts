import { type Fields, without } from '../../../fields.ts'
import { type Directive, deltaMs, restricts } from './cache-control.ts'
import { heuristicLifetime, initialAge } from './freshness.ts'
import { writeDate } from './http-date.ts'
import type { CacheRequest } from './request.ts'
import type { CacheRules } from './rules.ts'
import { selectingKey } from './selecting.ts'
import { isServerError } from './statuses.ts'
import { bytesOf, type StoredHead } from './stored.ts'
import type { AnswerHead, AnswerTimes } from './storing.ts'
import type { Told } from './told.ts'

/** Computes all that a hit has to know of an answer that may be stored. `varies`: by which fields of the request. */
export const headOf = (
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
