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
  parseListMembers,
  parseValidators,
} from './fields.ts'
import { isHeuristicallyCacheable } from './status-codes.ts'

/** The head of a response as it came: end-to-end fields only. */
export type ReceivedHead = Omit<ProxyResponse, 'body'>

/** When a request went out and when the head of its response came, in milliseconds of the monotonic clock. */
export interface ResponseTimes {
  readonly requestedAt: number
  readonly receivedAt: number
  /** When the head came by the wall clock, in milliseconds since the epoch: to compare with its `Date`. */
  readonly receivedEpoch: number
}

export const readDate = (fields: HeaderFields, now: number): number | null => {
  const [date] = fieldLines(fields, 'date')
  return date === undefined ? null : parseHttpDate(date, now)
}

/**
 * Computes the age of a response when it arrives, in milliseconds (RFC 9111 §4.2.3): by its Date or by its Age,
 * whichever is greater. The time since the request counts as age. `date` is the response's own; without one, the time
 * of its arrival (RFC 9110 §6.6.1).
 */
export const initialAge = (
  fields: HeaderFields,
  date: number,
  { requestedAt, receivedAt, receivedEpoch }: ResponseTimes,
): number => {
  const apparentAge = Math.max(0, receivedEpoch - date)
  const responseDelay = Math.max(0, receivedAt - requestedAt)
  return Math.max(apparentAge, readAge(fields) + responseDelay)
}

/** RFC 9111 §5.1: of several the first counts, and what is no number counts as absent. */
const readAge = (fields: HeaderFields): number => {
  const [first = ''] = parseListMembers(joinFieldLines(fields, 'age') ?? '').members
  const ms = parseDeltaSeconds(first)
  return Number.isNaN(ms) ? 0 : ms
}

/**
 * Computes for how many milliseconds a response says that it is fresh in a shared cache (RFC 9111 §4.2.1); null: it
 * does not say. An unreadable or contradictory lifetime means not fresh at all.
 */
const explicitLifetime = (
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

/**
 * Computes the lifetime of a response that does not say one: a tenth of the time since its last modification, a day at
 * most; or what `ttl` says for its status; the shorter of the two (RFC 9111 §4.2.2). Null: neither is asked for.
 */
const heuristicLifetime = (
  status: number,
  date: number,
  lastModifiedAt: number | null,
  isPublic: boolean,
  { heuristic, ttl }: CacheRules,
): number | null => {
  const configuredMs = ttl?.[status] ?? null
  // §4.2.2: by its status, or because it says that it may be cached.
  if (!heuristic || lastModifiedAt === null || !(isPublic || isHeuristicallyCacheable(status))) return configuredMs
  return Math.min(dayMs, Math.max(0, date - lastModifiedAt) / 10, configuredMs ?? dayMs)
}

export type ResponseMetadata = ReturnType<typeof readMetadata>

export const readMetadata = (
  { status, fields }: ReceivedHead,
  directives: readonly CacheDirective[],
  receivedEpoch: number,
  rules: CacheRules,
) => {
  const ownDate = readDate(fields, receivedEpoch)
  const date = ownDate ?? receivedEpoch
  const validators = parseValidators(fields, ownDate, receivedEpoch)
  const privateFields = directiveFields(directives, 'private')
  const noCacheFields = directiveFields(directives, 'no-cache')
  const explicitMs = explicitLifetime(fields, directives, date, receivedEpoch)
  return {
    directives,
    /** Whether it is for one client alone (RFC 9111 §5.2.2.7). */
    isPrivate: coversAll(privateFields),
    /** Whether it has to be validated each time (§5.2.2.4). */
    noCache: coversAll(noCacheFields),
    /**
     * The fields, in lower case, that are for one client or need validation each time, where the rest is neither
     * (§3.1).
     */
    withheld: [...listed(privateFields), ...listed(noCacheFields)],
    isDated: ownDate !== null,
    /** Its Date, or the time of its arrival (RFC 9110 §6.6.1). */
    date,
    validators,
    /** How long it says that it is fresh; null: it does not say (§4.2.1). */
    explicitMs,
    /** How long it counts as fresh where it does not say; null: it says so, or does not count as fresh (§4.2.2). */
    heuristicMs:
      explicitMs === null
        ? heuristicLifetime(status, date, validators.lastModifiedAt, allows(directives, 'public'), rules)
        : null,
  }
}

type NamedFields = readonly string[] | 'all' | null

/**
 * Tells whether a directive is about the whole response: without the named fields, the rest could not be read, or not
 * be kept as it should.
 */
const coversAll = (named: NamedFields): boolean => named === 'all' || (named?.some(isEssential) ?? false)

const listed = (named: NamedFields): readonly string[] => (coversAll(named) || named === 'all' ? [] : (named ?? []))

const essential = new Set(['cache-control', 'date', 'etag', 'expires', 'last-modified', 'vary'])

const isEssential = (name: string): boolean => essential.has(name) || name.startsWith('content-')
