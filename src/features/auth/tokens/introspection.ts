import { LRUCache } from 'lru-cache'
import { now } from '../../../core/lib/clock.ts'
import { parseJsonObject } from '../../../core/lib/plain-object.ts'
import { errorMessage } from '../../../core/lib/try.ts'
import type { IntrospectionConfig } from '../config.ts'
import { CredentialRejected, VerifierUnavailable } from '../errors.ts'
import { type ClaimExpectations, type Claims, checkClaims } from './claims.ts'
import { type DependencyHealthState, trackHealth } from './dependency-health.ts'
import type { HttpClient } from './http-client.ts'
import { type CachedToken, createTokenCache, maxTokenLength, tokenDigest } from './token-cache.ts'

/** Null: the token is not active. `size`: the length of the response's text. */
type IntrospectionResult = Awaited<ReturnType<typeof introspect>>

// RFC 6749 §2.3.1: each part of Basic is form-encoded first.
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

const failed = (why: string): VerifierUnavailable => new VerifierUnavailable('introspection-server', why)

/**
 * RFC 7662; the server serves no unknown caller (§2.1). Null: not active. Rejects with {@link VerifierUnavailable}; its
 * message holds neither token nor secret.
 */
export const introspect = async (
  server: HttpClient,
  { clientId, clientSecret }: Pick<IntrospectionConfig, 'clientId' | 'clientSecret'>,
  token: string,
) => {
  const request = server.request({
    method: 'POST',
    headers: {
      accept: 'application/json',
      authorization: `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  })
  const { status, text } = await request.catch((error: unknown) => {
    throw failed(errorMessage(error))
  })
  if (status !== 200) throw failed(`it responded with ${status}${status === 401 ? ': wrong client credentials' : ''}`)
  const claims = parseJsonObject(text)
  if (claims === null) throw failed('its response is not a JSON object')
  // RFC 7662 §2.2: a boolean. Neither "true" nor 1 admits a client.
  if (typeof claims.active !== 'boolean') throw failed('its response has no boolean active')
  return claims.active ? { claims, size: text.length } : null
}

// A repeated wrong token is introspected once in that time. Short, because a token just issued may be retried soon.
const rejectedMs = 1000
const maxRejected = 10_000
// More concurrent introspections would only overload the server and delay the requests.
const maxConcurrent = 256
// Anyone can make up tokens, so half of the room is reserved for tokens that were recently active.
const maxConcurrentNew = maxConcurrent / 2
const maxActiveLately = 10_000
const recoveryMs = 1000

export interface IntrospectorOptions extends ClaimExpectations {
  /** Null: the token is not active. Rejects with {@link VerifierUnavailable}. */
  readonly introspect: (token: string) => Promise<IntrospectionResult>
  /** How long a result is cached, in milliseconds; 0: not at all. A revoked token is admitted for that long. */
  readonly cache: number
  /** Called with the error when the server becomes unavailable, and with null when it has recovered. */
  readonly onChange: (error: string | null) => void
}

export const createIntrospector = ({ introspect, cache, onChange, ...expected }: IntrospectorOptions) => {
  const health = trackHealth(onChange, recoveryMs)
  const active = createTokenCache<Claims>(() => true)
  /** Separate from `active`, so that a flood of wrong tokens evicts no good one. `until`: on the monotonic clock. */
  const rejected = new LRUCache<string, { readonly why: unknown; readonly until: number }>({ max: maxRejected })
  /** The digests of tokens that were active at their last introspection, even if no longer cached. */
  const activeLately = new LRUCache<string, true>({ max: maxActiveLately })
  const inFlight = { all: 0, new: 0 }

  const ask = async (token: string, isNew: boolean): Promise<IntrospectionResult> => {
    if (inFlight.all >= maxConcurrent || (isNew && inFlight.new >= maxConcurrentNew))
      throw new VerifierUnavailable('introspection-busy', 'too many tokens are being asked about')
    inFlight.all++
    if (isNew) inFlight.new++
    try {
      const result = await introspect(token)
      health.recordSuccess()
      return result
    } catch (error) {
      health.recordFailure(errorMessage(error))
      throw error
    } finally {
      inFlight.all--
      if (isNew) inFlight.new--
    }
  }

  const load = async (digest: string, token: string): Promise<CachedToken<Claims>> => {
    const result = await ask(token, !activeLately.has(digest))
    try {
      if (result === null)
        throw new CredentialRejected('not-active', 'the authorization server says that it is not active')
      const expiresAt = checkClaims(result.claims, expected) ?? Number.POSITIVE_INFINITY
      activeLately.set(digest, true)
      return { value: result.claims, expiresAt, believedMs: cache, size: result.size }
    } catch (why) {
      rejected.set(digest, { why, until: now() + rejectedMs })
      activeLately.delete(digest)
      throw why
    }
  }

  return {
    state: (): DependencyHealthState => health.state,
    /** Throws or rejects with {@link CredentialRejected} or {@link VerifierUnavailable}. */
    getClaims(token: string): Claims | Promise<Claims> {
      // Attackers can make up long tokens, and a server that rejects their length would count as unavailable.
      if (token.length > maxTokenLength) throw new CredentialRejected('other-token-flaw', 'it is too long')
      const digest = tokenDigest(token)
      const cached = active.find(digest)
      if (cached !== null) return cached
      const before = rejected.get(digest)
      if (before !== undefined && before.until > now()) throw before.why
      return active.load(digest, () => load(digest, token))
    },
  }
}
