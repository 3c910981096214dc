import {
  fieldNameEquals,
  foldUnderscores,
  type HeaderFields,
  joinValues,
  omitFields,
  targetOverrides,
} from '../../../core/exchange/header-fields.ts'
import type { OperationCacheConfig } from '../config.ts'
import { type CacheDirective, parseDeltaMs, parseDirectives, restricts } from './fields.ts'

export interface CacheRules extends OperationCacheConfig {
  /** Names in lower case, besides Authorization and Cookie. */
  readonly credentials: readonly string[]
}

/** Durations are milliseconds; null: not stated. */
export interface CacheRequest {
  readonly fields: HeaderFields
  /** Not among the fields, but a response may vary by Host. */
  readonly authority: string
  /**
   * The target URI (RFC 9111 §2) and whatever else the upstream is told of the target: a response may repeat it, and a
   * client may write any Host.
   */
  readonly site: string
  readonly hasBody: boolean
  readonly hasAuthorization: boolean
  /** A Cookie, a certificate or a field of `credentials`. */
  readonly hasOtherCredentials: boolean
  /** RFC 9111 §5.2.1.4, or `Pragma: no-cache` where there is no Cache-Control. */
  readonly noCache: boolean
  /** §5.2.1.5 */
  readonly noStore: boolean
  /** §5.2.1.7 */
  readonly onlyIfCached: boolean
  /** §5.2.1.1 */
  readonly maxAgeMs: number | null
  /** §5.2.1.3 */
  readonly minFreshMs: number | null
  /** §5.2.1.2; infinite without an argument. */
  readonly maxStaleMs: number | null
  /** RFC 5861 §4 */
  readonly staleIfErrorMs: number | null
  /** If-Match or If-Unmodified-Since, which only the upstream can evaluate (RFC 9111 §4.3.2). */
  readonly hasUpstreamCondition: boolean
  /** Lines joined with a comma. */
  readonly ifNoneMatch: string | null
  readonly ifModifiedSince: string | null
  readonly range: string | null
  readonly ifRange: string | null
  /** Any fresh response will do, as a whole. */
  readonly isPlain: boolean
}

interface CacheRequestFacts {
  readonly authority: string
  readonly hasBody: boolean
  /** A certificate for which the client's id does not stand. */
  readonly hasCertificate: boolean
}

export type BypassReason = 'credentials' | 'body' | 'condition' | 'no-store'

export const parseCacheRequest = (
  fields: HeaderFields,
  facts: CacheRequestFacts,
  { credentials }: CacheRules,
): CacheRequest => {
  let cacheControl: string | null = null
  let pragma: string | null = null
  let hasAuthorization = false
  let hasOtherCredentials = facts.hasCertificate
  let hasUpstreamCondition = false
  let ifNoneMatch: string | null = null
  let ifModifiedSince: string | null = null
  let scheme = ''
  let host = facts.authority
  let overrides = ''
  let range: string | null = null
  let ifRange: string | null = null

  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    const value = fields[i + 1] as string
    // Lengths are cheap to compare, and most fields are none of these.
    switch (name.length) {
      case 5:
        if (fieldNameEquals(name, 'range')) range = joinValues(range, value)
        break
      case 6:
        if (fieldNameEquals(name, 'cookie')) hasOtherCredentials = true
        else if (fieldNameEquals(name, 'pragma')) pragma = joinValues(pragma, value)
        break
      case 8:
        if (fieldNameEquals(name, 'if-match')) hasUpstreamCondition = true
        else if (fieldNameEquals(name, 'if-range')) ifRange = joinValues(ifRange, value)
        break
      case 11:
        // RFC 9440: the client's certificate, from the proxy in front.
        if (foldUnderscores(name) === 'client-cert') hasOtherCredentials = true
        break
      case 13:
        if (fieldNameEquals(name, 'cache-control')) cacheControl = joinValues(cacheControl, value)
        else if (fieldNameEquals(name, 'if-none-match')) ifNoneMatch = joinValues(ifNoneMatch, value)
        else if (fieldNameEquals(name, 'authorization')) hasAuthorization = true
        break
      case 16:
        if (fieldNameEquals(name, 'x-forwarded-host')) host = value
        break
      case 17:
        if (fieldNameEquals(name, 'if-modified-since')) ifModifiedSince = joinValues(ifModifiedSince, value)
        else if (fieldNameEquals(name, 'x-forwarded-proto')) scheme = value
        break
      case 19:
        if (fieldNameEquals(name, 'if-unmodified-since')) hasUpstreamCondition = true
        break
    }
    const override = targetOverride(name, value)
    if (override !== null) {
      overrides += override
      if (isIdentityHeader(name)) hasOtherCredentials = true
    }
    if (!hasOtherCredentials) hasOtherCredentials = isAmong(credentials, name)
  }

  const requested = cacheControl === null ? parsePragma(pragma) : parseRequestDirectives(parseDirectives(cacheControl))
  return {
    fields,
    authority: facts.authority,
    site: (host === facts.authority ? `${scheme}://${host}` : `${scheme}://${host} ${facts.authority}`) + overrides,
    hasBody: facts.hasBody,
    hasAuthorization,
    hasOtherCredentials,
    noCache: requested.noCache,
    noStore: requested.noStore,
    onlyIfCached: requested.onlyIfCached,
    maxAgeMs: requested.maxAgeMs,
    minFreshMs: requested.minFreshMs,
    maxStaleMs: requested.maxStaleMs,
    staleIfErrorMs: requested.staleIfErrorMs,
    hasUpstreamCondition,
    ifNoneMatch,
    ifModifiedSince,
    range,
    ifRange,
    isPlain:
      requested === noDirectives &&
      !hasOtherCredentials &&
      ifNoneMatch === null &&
      ifModifiedSince === null &&
      range === null,
  }
}

export const bypassReason = (request: CacheRequest, { shared }: CacheRules): BypassReason | null => {
  if (request.hasBody) return 'body' // RFC 9110 §9.3.1: meaningless in GET, but the upstream may read it
  if (!shared && (request.hasAuthorization || request.hasOtherCredentials)) return 'credentials'
  if (request.hasUpstreamCondition) return 'condition' // RFC 9111 §4.3.2
  // RFC 9111 §5.2.1.5 forbids storing, not using a stored response.
  return request.noStore && !request.onlyIfCached ? 'no-store' : null
}

export const withoutConditions = (fields: HeaderFields): string[] => omitFields(fields, conditions)

const conditions = new Set(['if-none-match', 'if-modified-since', 'if-range', 'range'])

type RequestDirectives = Pick<
  CacheRequest,
  'noCache' | 'noStore' | 'onlyIfCached' | 'maxAgeMs' | 'minFreshMs' | 'maxStaleMs' | 'staleIfErrorMs'
>

const noDirectives: RequestDirectives = {
  noCache: false,
  noStore: false,
  onlyIfCached: false,
  maxAgeMs: null,
  minFreshMs: null,
  maxStaleMs: null,
  staleIfErrorMs: null,
}

/** RFC 9111 §5.4: deprecated, but the only directive of HTTP/1.0 clients. */
const parsePragma = (pragma: string | null): RequestDirectives =>
  pragma !== null && restricts(parseDirectives(pragma), 'no-cache') ? { ...noDirectives, noCache: true } : noDirectives

/** RFC 9111 §5.2.1. Unreadable directives limit reuse and allow nothing. */
const parseRequestDirectives = (directives: readonly CacheDirective[]): RequestDirectives => ({
  noCache: restricts(directives, 'no-cache'),
  noStore: restricts(directives, 'no-store'),
  onlyIfCached: restricts(directives, 'only-if-cached'),
  maxAgeMs: orIfUnreadable(parseDeltaMs(directives, 'max-age'), 0),
  minFreshMs: orIfUnreadable(parseDeltaMs(directives, 'min-fresh'), Number.POSITIVE_INFINITY),
  maxStaleMs: maxStale(directives),
  staleIfErrorMs: orIfUnreadable(parseDeltaMs(directives, 'stale-if-error'), null),
})

/** RFC 9111 §5.2.1.2: without an argument, any staleness. */
const maxStale = (directives: readonly CacheDirective[]): number | null => {
  const named = directives.filter(({ name }) => name === 'max-stale')
  const isUnlimited = named.length > 0 && named.every(({ argument, sound }) => sound && argument === null)
  return isUnlimited ? Number.POSITIVE_INFINITY : orIfUnreadable(parseDeltaMs(named, 'max-stale'), null)
}

const orIfUnreadable = <T>(ms: number | null, unreadable: T): number | null | T => (Number.isNaN(ms) ? unreadable : ms)

/** Some servers read `X_Api_Key` as `X-Api-Key`. */
const isAmong = (names: readonly string[], name: string): boolean => {
  for (const one of names) if (one.length === name.length && foldUnderscores(name) === foldUnderscores(one)) return true
  return false
}

// Most names have none of these lengths and are not folded.
const byLength: (readonly string[] | undefined)[] = []
for (const name of ['forwarded', ...targetOverrides]) byLength[name.length] = [...(byLength[name.length] ?? []), name]

// Sent by a trusted proxy. X-Forwarded-For is about the client; Proto and Host are read above.
const furtherForwarded = /^x-forwarded-(?!(?:for|proto|host)$)/i

/** Writes a field that may change the target or method at the upstream; null: any other field. */
const targetOverride = (name: string, value: string): string | null => {
  const isMeant =
    byLength[name.length]?.includes(foldUnderscores(name)) || (name.length > 12 && furtherForwarded.test(name))
  if (!isMeant) return null
  const folded = foldUnderscores(name)
  return `\n${folded}:${folded === 'forwarded' ? withoutNodes(value) : value}`
}

// RFC 7239 §6: plain addresses of the client and the proxy; a back end may read other forms differently.
const node = /(?<![^\s;,])(?:for|by)=(?:[\w.]+|"(?:[\w.]+|\[[\da-f:.]+\])(?::\d+)?")[ \t]*(?=[;,]|$)/gi

/** These parts differ by client and say nothing of the target. */
const withoutNodes = (value: string): string => value.replaceAll(node, '')

// In which Envoy and authenticating proxies name the client.
const identityNames = new Set([
  'x-forwarded-access-token',
  'x-forwarded-client-cert',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
  'x-forwarded-user',
])

const isIdentityHeader = (name: string): boolean => identityNames.has(name.toLowerCase())
