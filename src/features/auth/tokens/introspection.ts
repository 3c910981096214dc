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

/** Null: not active. `size`: the length of the response's text. */
type IntrospectionResult = Awaited<ReturnType<typeof introspect>>

// RFC 6749 §2.3.1: each part of Basic is form-encoded first.
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

const failed = (why: string): VerifierUnavailable => new VerifierUnavailable('introspection-server', why)

/**
 * RFC 7662; servers respond to known callers only (§2.1). Null: not active. Rejects with {@link VerifierUnavailable},
 * whose message holds neither token nor secret.
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

// How long a wrong token is rejected without a new introspection. Short: a token just issued may be retried soon.
const rejectedMs = 1000
const maxRejected = 10_000
// More would overload the server and delay the requests.
const maxConcurrent = 256
// Attackers can invent tokens, so half of the room is for tokens that were active.
const maxConcurrentNew = maxConcurrent / 2
const maxActiveLately = 10_000
const recoveryMs = 1000

export interface IntrospectorOptions extends ClaimExpectations {
  /** Null: not active. Rejects with {@link VerifierUnavailable}. */
  readonly introspect: (token: string) => Promise<IntrospectionResult>
  /** Milliseconds that a result is cached; 0: not at all. A revoked token is accepted for that long. */
  readonly cache: number
  /** Null: the server is available again. */
  readonly onChange: (error: string | null) => void
}

export const createIntrospector = ({ introspect, cache, onChange, ...expected }: IntrospectorOptions) => {
  const health = trackHealth(onChange, recoveryMs)
  const active = createTokenCache<Claims>(() => true)
  /** Separate from `active`: a flood of wrong tokens evicts no active token. `until`: on the monotonic clock. */
  const rejected = new LRUCache<string, { readonly why: unknown; readonly until: number }>({ max: maxRejected })
  /** Digests of tokens that were active when last introspected, even if no longer cached. */
  const activeLately = new LRUCache<string, true>({ max: maxActiveLately })
  const inFlight = { all: 0, new: 0 }

  const ask = async (token: string, isNew: boolean): Promise<IntrospectionResult> => {
    if (inFlight.all >= maxConcurrent || (isNew && inFlight.new >= maxConcurrentNew))
      throw new VerifierUnavailable('introspection-busy', 'too many tokens wait for introspection')
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
      // Attackers can invent long tokens, and a server that rejects their length would count as unavailable.
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
