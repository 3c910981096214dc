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
  /** The names, in lower case, of the credential fields besides Authorization and Cookie. */
  readonly credentials: readonly string[]
}

/** What a request asks of the cache, parsed once. Durations are milliseconds; null: it does not say. */
export interface CacheRequest {
  readonly fields: HeaderFields
  /** The Host of the request: not among the fields, and yet a response may vary by it. */
  readonly authority: string
  /**
   * Scheme and authority of the target URI (RFC 9111 §2), as the upstream is told of them, and whatever else it is told
   * of the target: it may repeat them in its response, and clients write whatever they like for a Host.
   */
  readonly site: string
  readonly hasBody: boolean
  readonly hasAuthorization: boolean
  /** Whether there are credentials other than Authorization: a Cookie, a certificate, a field of `credentials`. */
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
  /** Whether it has If-Match or If-Unmodified-Since: the upstream alone can tell (RFC 9111 §4.3.2). */
  readonly hasUpstreamCondition: boolean
  /** Several lines are joined with a comma. */
  readonly ifNoneMatch: string | null
  readonly ifModifiedSince: string | null
  readonly range: string | null
  readonly ifRange: string | null
  /** Whether it has no demands: whatever is fresh will do, and as a whole. */
  readonly isPlain: boolean
}

/** The facts about a request that are not among its fields. */
interface CacheRequestFacts {
  readonly authority: string
  readonly hasBody: boolean
  /** Whether the client has presented a certificate that its id does not stand for. */
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
    // By length first: most fields are none of these, and lengths cost nothing to compare.
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
        // RFC 9440: a certificate that was presented to the proxy in front.
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
  if (request.hasBody) return 'body' // RFC 9110 §9.3.1: it has no meaning, but the upstream may see one
  if (!shared && (request.hasAuthorization || request.hasOtherCredentials)) return 'credentials'
  if (request.hasUpstreamCondition) return 'condition' // RFC 9111 §4.3.2
  // RFC 9111 §5.2.1.5 forbids to store. What is stored already may still satisfy the request.
  return request.noStore && !request.onlyIfCached ? 'no-store' : null
}

/** Removes the client's own conditions and its Range: the cache fetches the whole response. */
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

/** RFC 9111 §5.4: deprecated, and all that a client of HTTP/1.0 can say. */
const parsePragma = (pragma: string | null): RequestDirectives =>
  pragma !== null && restricts(parseDirectives(pragma), 'no-cache') ? { ...noDirectives, noCache: true } : noDirectives

/** RFC 9111 §5.2.1. An unreadable directive is read as strictly as possible: it limits reuse, and allows nothing. */
const parseRequestDirectives = (directives: readonly CacheDirective[]): RequestDirectives => ({
  noCache: restricts(directives, 'no-cache'),
  noStore: restricts(directives, 'no-store'),
  onlyIfCached: restricts(directives, 'only-if-cached'),
  maxAgeMs: orIfUnreadable(parseDeltaMs(directives, 'max-age'), 0),
  minFreshMs: orIfUnreadable(parseDeltaMs(directives, 'min-fresh'), Number.POSITIVE_INFINITY),
  maxStaleMs: maxStale(directives),
  staleIfErrorMs: orIfUnreadable(parseDeltaMs(directives, 'stale-if-error'), null),
})

/** §5.2.1.2: without an argument, however stale the response is. */
const maxStale = (directives: readonly CacheDirective[]): number | null => {
  const named = directives.filter(({ name }) => name === 'max-stale')
  const isUnlimited = named.length > 0 && named.every(({ argument, sound }) => sound && argument === null)
  return isUnlimited ? Number.POSITIVE_INFINITY : orIfUnreadable(parseDeltaMs(named, 'max-stale'), null)
}

const orIfUnreadable = <T>(ms: number | null, unreadable: T): number | null | T => (Number.isNaN(ms) ? unreadable : ms)

/** Tells whether a field is one of those named, or the twin of one with underscores. */
const isAmong = (names: readonly string[], name: string): boolean => {
  for (const one of names) if (one.length === name.length && foldUnderscores(name) === foldUnderscores(one)) return true
  return false
}

// Most names have a length that none of these has: they pass without being folded.
const byLength: (readonly string[] | undefined)[] = []
for (const name of ['forwarded', ...targetOverrides]) byLength[name.length] = [...(byLength[name.length] ?? []), name]

// Only those of a trusted proxy get here. X-Forwarded-For is about the client, and the other two are read by
// themselves.
const furtherForwarded = /^x-forwarded-(?!(?:for|proto|host)$)/i

/**
 * Writes what a field says of the target URI, or of the method, in place of the request's own; null: it says nothing of
 * them.
 */
const targetOverride = (name: string, value: string): string | null => {
  const isMeant =
    byLength[name.length]?.includes(foldUnderscores(name)) || (name.length > 12 && furtherForwarded.test(name))
  if (!isMeant) return null
  const folded = foldUnderscores(name)
  return `\n${folded}:${folded === 'forwarded' ? withoutNodes(value) : value}`
}

// RFC 7239 §6: the client, and the proxy's own address. Only plain addresses: what a back end may read in another way
// stays.
const node = /(?<![^\s;,])(?:for|by)=(?:[\w.]+|"(?:[\w.]+|\[[\da-f:.]+\])(?::\d+)?")[ \t]*(?=[;,]|$)/gi

/** Removes from `Forwarded` what differs from client to client and says nothing of the target. */
const withoutNodes = (value: string): string => value.replaceAll(node, '')

// Fields in which a proxy in front names the client that it has let in: Envoy's, and those of authenticating proxies.
const identityNames = new Set([
  'x-forwarded-access-token',
  'x-forwarded-client-cert',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
  'x-forwarded-user',
])

const isIdentityHeader = (name: string): boolean => identityNames.has(name.toLowerCase())
