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
  /** In lower case, without Authorization and Cookie. */
  readonly credentials: readonly string[]
}

export type CacheRequest = Readonly<ReturnType<typeof emptyRequest>>

/** `hasCertificate`: a certificate whose client has no id. */
interface CacheRequestFacts extends Pick<CacheRequest, 'authority' | 'hasBody'> {
  readonly hasCertificate: boolean
}

export type BypassReason = 'credentials' | 'body' | 'condition' | 'no-store'

/** Durations: milliseconds; null: not stated. */
const emptyRequest = (fields: HeaderFields, authority: string, hasBody: boolean, hasCertificate: boolean) => ({
  fields,
  /** Not among the fields, but responses may vary by Host. */
  authority,
  /** Target URI (RFC 9111 §2) and all that upstreams get of it: responses may repeat a Host that a client chose. */
  site: '',
  hasBody,
  hasAuthorization: false,
  /** A Cookie, a certificate or a field of `credentials`. */
  hasOtherCredentials: hasCertificate,
  noCache: false, // RFC 9111 §5.2.1.4, or `Pragma: no-cache` without Cache-Control
  noStore: false, // §5.2.1.5
  onlyIfCached: false, // §5.2.1.7
  maxAgeMs: null as number | null, // §5.2.1.1
  minFreshMs: null as number | null, // §5.2.1.3
  maxStaleMs: null as number | null, // §5.2.1.2; infinite without an argument
  staleIfErrorMs: null as number | null, // RFC 5861 §4
  /** If-Match or If-Unmodified-Since: only the upstream can evaluate them (RFC 9111 §4.3.2). */
  hasUpstreamCondition: false,
  /** Lines joined by commas, as in the next three. */
  ifNoneMatch: null as string | null,
  ifModifiedSince: null as string | null,
  range: null as string | null,
  ifRange: null as string | null,
  /** Any fresh response will do, unless it is partial. */
  isPlain: false,
})

export const parseCacheRequest = (
  fields: HeaderFields,
  { authority, hasBody, hasCertificate }: CacheRequestFacts,
  { credentials }: CacheRules,
): CacheRequest => {
  const request = emptyRequest(fields, authority, hasBody, hasCertificate)
  let cacheControl: string | null = null
  let pragma: string | null = null
  let scheme = ''
  let host = authority
  let overrides = ''

  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    const value = fields[i + 1] as string
    // Lengths are cheap to compare, and most fields have another length.
    switch (name.length) {
      case 5:
        if (fieldNameEquals(name, 'range')) request.range = joinValues(request.range, value)
        break
      case 6:
        if (fieldNameEquals(name, 'cookie')) request.hasOtherCredentials = true
        else if (fieldNameEquals(name, 'pragma')) pragma = joinValues(pragma, value)
        break
      case 8:
        if (fieldNameEquals(name, 'if-match')) request.hasUpstreamCondition = true
        else if (fieldNameEquals(name, 'if-range')) request.ifRange = joinValues(request.ifRange, value)
        break
      case 11:
        // RFC 9440: the client's certificate, from a proxy.
        if (foldUnderscores(name) === 'client-cert') request.hasOtherCredentials = true
        break
      case 13:
        if (fieldNameEquals(name, 'cache-control')) cacheControl = joinValues(cacheControl, value)
        else if (fieldNameEquals(name, 'if-none-match')) request.ifNoneMatch = joinValues(request.ifNoneMatch, value)
        else if (fieldNameEquals(name, 'authorization')) request.hasAuthorization = true
        break
      case 16:
        if (fieldNameEquals(name, 'x-forwarded-host')) host = value
        break
      case 17:
        if (fieldNameEquals(name, 'if-modified-since'))
          request.ifModifiedSince = joinValues(request.ifModifiedSince, value)
        else if (fieldNameEquals(name, 'x-forwarded-proto')) scheme = value
        break
      case 19:
        if (fieldNameEquals(name, 'if-unmodified-since')) request.hasUpstreamCondition = true
        break
    }
    const override = targetOverride(name, value)
    if (override !== null) {
      overrides += override
      if (identityNames.has(name.toLowerCase())) request.hasOtherCredentials = true
    }
    if (!request.hasOtherCredentials) request.hasOtherCredentials = isAmong(credentials, name)
  }

  if (cacheControl !== null) readDirectives(request, parseDirectives(cacheControl))
  // RFC 9111 §5.4: deprecated, but the only directive of HTTP/1.0.
  else if (pragma !== null) request.noCache = restricts(parseDirectives(pragma), 'no-cache')
  request.site = (host === authority ? `${scheme}://${host}` : `${scheme}://${host} ${authority}`) + overrides
  request.isPlain =
    cacheControl === null &&
    !request.noCache &&
    !request.hasOtherCredentials &&
    request.ifNoneMatch === null &&
    request.ifModifiedSince === null &&
    request.range === null
  return request
}

/** RFC 9111 §5.2.1. Malformed directives restrict reuse and never allow it. */
const readDirectives = (request: ReturnType<typeof emptyRequest>, directives: readonly CacheDirective[]): void => {
  request.noCache = restricts(directives, 'no-cache')
  request.noStore = restricts(directives, 'no-store')
  request.onlyIfCached = restricts(directives, 'only-if-cached')
  request.maxAgeMs = orIfUnreadable(parseDeltaMs(directives, 'max-age'), 0)
  request.minFreshMs = orIfUnreadable(parseDeltaMs(directives, 'min-fresh'), Number.POSITIVE_INFINITY)
  request.staleIfErrorMs = orIfUnreadable(parseDeltaMs(directives, 'stale-if-error'), null)
  // §5.2.1.2: without an argument, any staleness.
  const maxStale = directives.filter(({ name }) => name === 'max-stale')
  const isUnlimited = maxStale.length > 0 && maxStale.every(({ argument, sound }) => sound && argument === null)
  request.maxStaleMs = isUnlimited
    ? Number.POSITIVE_INFINITY
    : orIfUnreadable(parseDeltaMs(maxStale, 'max-stale'), null)
}

const orIfUnreadable = <T>(ms: number | null, unreadable: T): number | null | T => (Number.isNaN(ms) ? unreadable : ms)

export const bypassReason = (request: CacheRequest, { shared }: CacheRules): BypassReason | null => {
  if (request.hasBody) return 'body' // RFC 9110 §9.3.1: no meaning in GET, but the upstream may read it
  if (!shared && (request.hasAuthorization || request.hasOtherCredentials)) return 'credentials'
  if (request.hasUpstreamCondition) return 'condition' // RFC 9111 §4.3.2
  // RFC 9111 §5.2.1.5 forbids storing, not using a stored response.
  return request.noStore && !request.onlyIfCached ? 'no-store' : null
}

export const withoutConditions = (fields: HeaderFields): string[] => omitFields(fields, conditions)

const conditions = new Set(['if-none-match', 'if-modified-since', 'if-range', 'range'])

/** Some servers read `X_Api_Key` as `X-Api-Key`. */
const isAmong = (names: readonly string[], name: string): boolean => {
  for (const one of names) if (one.length === name.length && foldUnderscores(name) === foldUnderscores(one)) return true
  return false
}

// Most names have other lengths and are not folded.
const byLength: (readonly string[] | undefined)[] = []
for (const name of ['forwarded', ...targetOverrides]) byLength[name.length] = [...(byLength[name.length] ?? []), name]

// From a trusted proxy. X-Forwarded-For is about the client; Proto and Host are read above.
const furtherForwarded = /^x-forwarded-(?!(?:for|proto|host)$)/i

/** The normalized field if it may change the target or method at the upstream; otherwise null. */
const targetOverride = (name: string, value: string): string | null => {
  const isMeant =
    byLength[name.length]?.includes(foldUnderscores(name)) || (name.length > 12 && furtherForwarded.test(name))
  if (!isMeant) return null
  const folded = foldUnderscores(name)
  return `\n${folded}:${folded === 'forwarded' ? withoutNodes(value) : value}`
}

// RFC 7239 §6: plain addresses of client and proxy; a back end may understand other forms differently.
const node = /(?<![^\s;,])(?:for|by)=(?:[\w.]+|"(?:[\w.]+|\[[\da-f:.]+\])(?::\d+)?")[ \t]*(?=[;,]|$)/gi

/** Removes addresses, which differ by client and say nothing of the target. */
const withoutNodes = (value: string): string => value.replaceAll(node, '')

// Envoy and authenticating proxies name the client in these.
const identityNames = new Set([
  'x-forwarded-access-token',
  'x-forwarded-client-cert',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-preferred-username',
  'x-forwarded-user',
])
