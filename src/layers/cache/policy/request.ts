import type { OperationCacheConfig } from '../../../config/config.ts'
import { type Fields, isNamed, without, withTwins } from '../../../fields.ts'
import { type Directive, deltaMs, parseDirectives, restricts } from './cache-control.ts'
import { join } from './list.ts'
import { tellsWhoAsks, toldOfTarget } from './target-overrides.ts'

/** Is what the configuration says of one operation's cache. */
export interface CacheRules extends OperationCacheConfig {
  /** Which fields are credentials beside Authorization and Cookie, in lower case. */
  readonly credentials: readonly string[]
}

/** Is what a request asks of the cache, read once. Durations are milliseconds; null: it does not say. */
export interface CacheRequest {
  /** The request's fields, as they came. */
  readonly fields: Fields
  /** The Host that was asked for: not among the fields, and yet an answer may vary by it. */
  readonly authority: string
  /**
   * Scheme and authority of the target URI (RFC 9111 §2), as the upstream is told of them, and whatever else it is told of what is asked for: it may
   * say them again in its answer, and clients write whatever they like for a Host.
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
  /** Whether it asks nothing at all: whatever is fresh will do, and as a whole. */
  readonly isPlain: boolean
}

/** Is what stands beside a request's fields. */
export interface RequestFacts {
  readonly authority: string
  readonly hasBody: boolean
  /** Whether the client has shown a certificate, and its id does not stand for it. */
  readonly hasCertificate: boolean
}

/** Says why a request passes the cache by, and is forwarded as it came. */
export type Bypass = 'credentials' | 'body' | 'condition' | 'no-store'

/** Reads a request, in one pass over its fields. */
export const readRequest = (fields: Fields, facts: RequestFacts, { credentials }: CacheRules): CacheRequest => {
  let cacheControl: string | null = null
  let pragma: string | null = null
  let hasAuthorization = false
  let hasOtherCredentials = facts.hasCertificate
  let hasUpstreamCondition = false
  let ifNoneMatch: string | null = null
  let ifModifiedSince: string | null = null
  let scheme = ''
  let host = facts.authority
  let further = ''
  let range: string | null = null
  let ifRange: string | null = null

  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    const value = fields[i + 1] as string
    // By length first: most fields are none of these, and lengths cost nothing to compare.
    switch (name.length) {
      case 5:
        if (isNamed(name, 'range')) range = join(range, value)
        break
      case 6:
        if (isNamed(name, 'cookie')) hasOtherCredentials = true
        else if (isNamed(name, 'pragma')) pragma = join(pragma, value)
        break
      case 8:
        if (isNamed(name, 'if-match')) hasUpstreamCondition = true
        else if (isNamed(name, 'if-range')) ifRange = join(ifRange, value)
        break
      case 11:
        // RFC 9440: a certificate that was shown to the proxy in front.
        if (withTwins(name) === 'client-cert') hasOtherCredentials = true
        break
      case 13:
        if (isNamed(name, 'cache-control')) cacheControl = join(cacheControl, value)
        else if (isNamed(name, 'if-none-match')) ifNoneMatch = join(ifNoneMatch, value)
        else if (isNamed(name, 'authorization')) hasAuthorization = true
        break
      case 16:
        if (isNamed(name, 'x-forwarded-host')) host = value
        break
      case 17:
        if (isNamed(name, 'if-modified-since')) ifModifiedSince = join(ifModifiedSince, value)
        else if (isNamed(name, 'x-forwarded-proto')) scheme = value
        break
      case 19:
        if (isNamed(name, 'if-unmodified-since')) hasUpstreamCondition = true
        break
    }
    const told = toldOfTarget(name, value)
    if (told !== null) {
      further += told
      if (tellsWhoAsks(name)) hasOtherCredentials = true
    }
    if (!hasOtherCredentials) hasOtherCredentials = isAmong(credentials, name)
  }

  const asked = cacheControl === null ? askedByPragma(pragma) : askedByCacheControl(parseDirectives(cacheControl))
  return {
    fields,
    authority: facts.authority,
    site: (host === facts.authority ? `${scheme}://${host}` : `${scheme}://${host} ${facts.authority}`) + further,
    hasBody: facts.hasBody,
    hasAuthorization,
    hasOtherCredentials,
    noCache: asked.noCache,
    noStore: asked.noStore,
    onlyIfCached: asked.onlyIfCached,
    maxAgeMs: asked.maxAgeMs,
    minFreshMs: asked.minFreshMs,
    maxStaleMs: asked.maxStaleMs,
    staleIfErrorMs: asked.staleIfErrorMs,
    hasUpstreamCondition,
    ifNoneMatch,
    ifModifiedSince,
    range,
    ifRange,
    isPlain:
      asked === nothing && !hasOtherCredentials && ifNoneMatch === null && ifModifiedSince === null && range === null,
  }
}

/** Tells whether a request passes the cache by; null: it does not. */
export const bypassReason = (request: CacheRequest, { shared }: CacheRules): Bypass | null => {
  if (request.hasBody) return 'body' // RFC 9110 §9.3.1: it means nothing, but the upstream may think otherwise.
  if (!shared && (request.hasAuthorization || request.hasOtherCredentials)) return 'credentials'
  if (request.hasUpstreamCondition) return 'condition' // RFC 9111 §4.3.2
  // RFC 9111 §5.2.1.5 forbids to store. What is stored already may still be all that is asked for.
  return request.noStore && !request.onlyIfCached ? 'no-store' : null
}

/** Takes out the client's own conditions and its Range: what is fetched for the cache is asked for as a whole. */
export const unconditional = (fields: Fields): string[] => without(fields, conditions)

const conditions = new Set(['if-none-match', 'if-modified-since', 'if-range', 'range'])

/** Is what the directives of a request ask. */
type Asked = Pick<
  CacheRequest,
  'noCache' | 'noStore' | 'onlyIfCached' | 'maxAgeMs' | 'minFreshMs' | 'maxStaleMs' | 'staleIfErrorMs'
>

const nothing: Asked = {
  noCache: false,
  noStore: false,
  onlyIfCached: false,
  maxAgeMs: null,
  minFreshMs: null,
  maxStaleMs: null,
  staleIfErrorMs: null,
}

/** RFC 9111 §5.4: deprecated, and all that a client of HTTP/1.0 can say. */
const askedByPragma = (pragma: string | null): Asked =>
  pragma !== null && restricts(parseDirectives(pragma), 'no-cache') ? { ...nothing, noCache: true } : nothing

/** RFC 9111 §5.2.1. What cannot be read is read as strictly as can be: it limits what is reused, and allows nothing. */
const askedByCacheControl = (directives: readonly Directive[]): Asked => ({
  noCache: restricts(directives, 'no-cache'),
  noStore: restricts(directives, 'no-store'),
  onlyIfCached: restricts(directives, 'only-if-cached'),
  maxAgeMs: orElse(deltaMs(directives, 'max-age'), 0),
  minFreshMs: orElse(deltaMs(directives, 'min-fresh'), Number.POSITIVE_INFINITY),
  maxStaleMs: maxStale(directives),
  staleIfErrorMs: orElse(deltaMs(directives, 'stale-if-error'), null),
})

/** §5.2.1.2: without an argument, however stale it is. */
const maxStale = (directives: readonly Directive[]): number | null => {
  const named = directives.filter(({ name }) => name === 'max-stale')
  const isUnlimited = named.length > 0 && named.every(({ argument, sound }) => sound && argument === null)
  return isUnlimited ? Number.POSITIVE_INFINITY : orElse(deltaMs(named, 'max-stale'), null)
}

const orElse = <T>(ms: number | null, unreadable: T): number | null | T => (Number.isNaN(ms) ? unreadable : ms)

/** Tells whether a field is one of those named, or the twin of one with underscores. */
const isAmong = (names: readonly string[], name: string): boolean => {
  for (const one of names) if (one.length === name.length && withTwins(name) === withTwins(one)) return true
  return false
}
