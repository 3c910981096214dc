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

/** End-to-end fields only. */
export type ReceivedHead = Omit<ProxyResponse, 'body'>

/** Milliseconds of the monotonic clock. */
export interface ResponseTimes {
  readonly requestedAt: number
  readonly receivedAt: number
  /** By the wall clock, to compare with `Date`. */
  readonly receivedEpoch: number
}

export const readDate = (fields: HeaderFields, now: number): number | null => {
  const [date] = fieldLines(fields, 'date')
  return date === undefined ? null : parseHttpDate(date, now)
}

/**
 * Milliseconds (RFC 9111 §4.2.3): by Date or Age, whichever is greater. The time since the request counts. `date`: the
 * time of arrival if the response has none (RFC 9110 §6.6.1).
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

/** RFC 9111 §5.1: the first value counts, and an invalid value is ignored. */
const readAge = (fields: HeaderFields): number => {
  const [first = ''] = parseListMembers(joinFieldLines(fields, 'age') ?? '').members
  const ms = parseDeltaSeconds(first)
  return Number.isNaN(ms) ? 0 : ms
}

/** Milliseconds in a shared cache (RFC 9111 §4.2.1); null: not stated. Unreadable or contradictory: 0. */
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

/** RFC 9111 §5.3: an invalid date, often `0`, is in the past. */
const expiresAfter = (fields: HeaderFields, date: number, now: number): number | null => {
  const [expires, ...others] = fieldLines(fields, 'expires')
  if (expires === undefined) return null
  const at = others.every((other) => other === expires) ? parseHttpDate(expires, now) : null
  return at === null ? 0 : Math.max(0, at - date)
}

const dayMs = 24 * 3_600_000

/**
 * RFC 9111 §4.2.2: a tenth of the time since the last modification, at most a day, or `ttl` of the status, whichever is
 * shorter. Null: neither is configured.
 */
const heuristicLifetime = (
  status: number,
  date: number,
  lastModifiedAt: number | null,
  isPublic: boolean,
  { heuristic, ttl }: CacheRules,
): number | null => {
  const configuredMs = ttl?.[status] ?? null
  // RFC 9111 §4.2.2: its status or `public` must allow it.
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
    /** RFC 9111 §5.2.2.7 */
    isPrivate: coversAll(privateFields),
    /** Must be validated each time (§5.2.2.4). */
    noCache: coversAll(noCacheFields),
    /** In lower case: fields for one client or to validate each time, unlike the rest (§3.1). */
    withheld: [...listed(privateFields), ...listed(noCacheFields)],
    isDated: ownDate !== null,
    /** Without Date, the time of arrival (RFC 9110 §6.6.1). */
    date,
    validators,
    explicitMs,
    /** Null: not fresh without an explicit lifetime, or it has one. */
    heuristicMs:
      explicitMs === null
        ? heuristicLifetime(status, date, validators.lastModifiedAt, allows(directives, 'public'), rules)
        : null,
  }
}

type NamedFields = readonly string[] | 'all' | null

/** Without these fields the rest of the response could not be read or stored correctly. */
const coversAll = (named: NamedFields): boolean => named === 'all' || (named?.some(isEssential) ?? false)

const listed = (named: NamedFields): readonly string[] => (coversAll(named) || named === 'all' ? [] : (named ?? []))

const essential = new Set(['cache-control', 'date', 'etag', 'expires', 'last-modified', 'vary'])

const isEssential = (name: string): boolean => essential.has(name) || name.startsWith('content-')
