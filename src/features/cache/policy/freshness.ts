import type { ProxyResponse } from '../../../core/exchange/exchange.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../../core/exchange/http1/http-date.ts'
import type { CacheRules } from './cache-request.ts'
import {
  allows,
  type CacheDirective,
  directiveFields,
  fieldLines,
  joinFieldLines,
  parseDeltaMs,
  parseDeltaSeconds,
  parseDirectives,
  parseListMembers,
  parseValidators,
} from './fields.ts'
import { isHeuristicallyCacheable } from './status-codes.ts'

/** Without hop-by-hop fields. */
export type ReceivedHead = Omit<ProxyResponse, 'body'>

/** Milliseconds of the monotonic clock; `receivedEpoch`: of the wall clock, to compare with `Date`. */
export interface ResponseTimes {
  readonly requestedAt: number
  readonly receivedAt: number
  readonly receivedEpoch: number
}

export const readDate = (fields: HeaderFields, now: number): number | null => {
  const [date] = fieldLines(fields, 'date')
  return date === undefined ? null : parseHttpDate(date, now)
}

/** Milliseconds (RFC 9111 §4.2.3). `date`: time of arrival if absent (RFC 9110 §6.6.1). */
export const initialAge = (fields: HeaderFields, date: number, times: ResponseTimes): number => {
  // §5.1: the first value counts; an invalid value is ignored.
  const [first = ''] = parseListMembers(joinFieldLines(fields, 'age') ?? '').members
  const age = parseDeltaSeconds(first)
  const responseDelay = Math.max(0, times.receivedAt - times.requestedAt)
  return Math.max(0, times.receivedEpoch - date, (Number.isNaN(age) ? 0 : age) + responseDelay)
}

/** Milliseconds in a shared cache (RFC 9111 §4.2.1); null: not stated. Malformed or contradictory: 0. */
const explicitLifetime = (
  fields: HeaderFields,
  directives: readonly CacheDirective[],
  date: number,
  now: number,
): number | null => {
  const ms = parseDeltaMs(directives, 's-maxage') ?? parseDeltaMs(directives, 'max-age')
  if (ms !== null) return Number.isNaN(ms) ? 0 : ms
  const [expires, ...others] = fieldLines(fields, 'expires')
  if (expires === undefined) return null
  // §5.3: an invalid date, often `0`, is in the past.
  const at = others.every((other) => other === expires) ? parseHttpDate(expires, now) : null
  return at === null ? 0 : Math.max(0, at - date)
}

const dayMs = 24 * 3_600_000

/** RFC 9111 §4.2.2: a tenth of the time since the last change, a day, or `ttl` of the status: the shortest. */
const heuristicLifetime = (
  status: number,
  date: number,
  lastModifiedAt: number | null,
  isPublic: boolean,
  { heuristic, ttl }: CacheRules,
): number | null => {
  const configuredMs = ttl?.[status] ?? null
  // RFC 9111 §4.2.2: the status or `public` must allow it.
  if (!heuristic || lastModifiedAt === null || !(isPublic || isHeuristicallyCacheable(status))) return configuredMs
  return Math.min(dayMs, Math.max(0, date - lastModifiedAt) / 10, configuredMs ?? dayMs)
}

export type ResponseMetadata = ReturnType<typeof readMetadata>

export const readMetadata = ({ status, fields }: ReceivedHead, receivedEpoch: number, rules: CacheRules) => {
  const directives = parseDirectives(joinFieldLines(fields, 'cache-control') ?? '')
  const ownDate = readDate(fields, receivedEpoch)
  const date = ownDate ?? receivedEpoch
  const validators = parseValidators(fields, ownDate, receivedEpoch)
  const privateFields = directiveFields(directives, 'private')
  const noCacheFields = directiveFields(directives, 'no-cache')
  const explicitMs = explicitLifetime(fields, directives, date, receivedEpoch)
  return {
    directives,
    isPrivate: privateFields === 'all', // RFC 9111 §5.2.2.7
    noCache: noCacheFields === 'all', // §5.2.2.4: validated each time
    /** Fields for one client, or to validate each time, in lower case (§3.1). */
    withheld: [privateFields, noCacheFields].flatMap((each) => (each === 'all' || each === null ? [] : each)),
    isDated: ownDate !== null,
    /** The time of arrival if absent (RFC 9110 §6.6.1). */
    date,
    validators,
    explicitMs,
    /** Null: the lifetime is explicit, or there is none. */
    heuristicMs:
      explicitMs === null
        ? heuristicLifetime(status, date, validators.lastModifiedAt, allows(directives, 'public'), rules)
        : null,
  }
}
