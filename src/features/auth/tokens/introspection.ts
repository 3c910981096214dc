import { LRUCache } from 'lru-cache'
import { now } from '../../../core/lib/clock.ts'
import { parseJsonObject } from '../../../core/lib/plain-object.ts'
import { errorMessage } from '../../../core/lib/try.ts'
import type { IntrospectionConfig } from '../config.ts'
import { CredentialRejected, VerifierUnavailable } from '../errors.ts'
import { DependencyHealth, type DependencyHealthState } from './dependency-health.ts'
import type { HttpClient, HttpRequest } from './http-client.ts'
import { type ClaimExpectations, type Claims, checkClaims } from './token.ts'
import { type CachedToken, maxTokenLength, TokenCache, tokenDigest } from './token-cache.ts'

/** The gateway's credentials; the authorization server serves no unknown caller (RFC 7662 §2.1). */
type IntrospectionCredentials = Pick<IntrospectionConfig, 'clientId' | 'clientSecret'>

/** Null: the token is not active. `size`: the length of the response's text. */
type IntrospectionResult = Awaited<ReturnType<typeof introspect>>

/**
 * Asks an authorization server (RFC 7662). Null: the token is not active. Rejects with {@link VerifierUnavailable},
 * whose message holds neither token nor secret.
 */
export const introspect = async (server: HttpClient, credentials: IntrospectionCredentials, token: string) => {
  const { status, text } = await server.request(createRequest(credentials, token)).catch((error: unknown) => {
    throw new VerifierUnavailable('introspection-server', errorMessage(error))
  })
  if (status !== 200)
    throw new VerifierUnavailable(
      'introspection-server',
      `it answered ${status}${status === 401 ? ': wrong client credentials' : ''}`,
    )
  const claims = parseJsonObject(text)
  if (claims === null) throw new VerifierUnavailable('introspection-server', 'its answer is not a JSON object')
  // RFC 7662 §2.2: a boolean. Neither "true" nor 1 admits a client.
  const { active } = claims
  if (typeof active !== 'boolean')
    throw new VerifierUnavailable('introspection-server', 'its answer has no boolean active')
  return active ? { claims, size: text.length } : null
}

const createRequest = ({ clientId, clientSecret }: IntrospectionCredentials, token: string): HttpRequest => ({
  method: 'POST',
  headers: {
    accept: 'application/json',
    authorization: `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  },
  body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
})

// RFC 6749 §2.3.1: each part of Basic is form-encoded first.
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

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

interface RejectedToken {
  /** The {@link CredentialRejected}. */
  readonly why: unknown
  /** On the monotonic clock. */
  readonly until: number
}

export class Introspector {
  readonly #options: IntrospectorOptions
  readonly #health: DependencyHealth
  readonly #active = new TokenCache<Claims>(() => true)
  /** Separate from `#active`, so that a flood of wrong tokens evicts no good one. */
  readonly #rejected = new LRUCache<string, RejectedToken>({ max: maxRejected })
  /** The digests of tokens that were active at their last introspection, even if no longer cached. */
  readonly #activeLately = new LRUCache<string, true>({ max: maxActiveLately })
  #inFlight = 0
  /** Of these, for tokens that were not recently active. */
  #newInFlight = 0

  constructor(options: IntrospectorOptions) {
    this.#options = options
    this.#health = new DependencyHealth(options.onChange, recoveryMs)
  }

  /** Throws or rejects with {@link CredentialRejected} or {@link VerifierUnavailable}. */
  getClaims(token: string): Claims | Promise<Claims> {
    // Attackers can make up long tokens, and a server that rejects their length would count as unavailable.
    if (token.length > maxTokenLength) throw new CredentialRejected('other-token-flaw', 'it is too long')
    const digest = tokenDigest(token)
    const cached = this.#active.find(digest)
    if (cached !== null) return cached
    const rejected = this.#rejected.get(digest)
    if (rejected !== undefined && rejected.until > now()) throw rejected.why
    return this.#active.load(digest, () => this.#load(digest, token))
  }

  state(): DependencyHealthState {
    return this.#health.state()
  }

  async #load(digest: string, token: string): Promise<CachedToken<Claims>> {
    const isNew = !this.#activeLately.has(digest)
    const result = await this.#introspect(token, isNew)
    try {
      if (result === null)
        throw new CredentialRejected('not-active', 'the authorization server says that it is not active')
      const { claims, size } = result
      const expiresAt = checkClaims(claims, this.#options) ?? Number.POSITIVE_INFINITY
      this.#activeLately.set(digest, true)
      return { value: claims, expiresAt, believedMs: this.#options.cache, size }
    } catch (why) {
      this.#rejected.set(digest, { why, until: now() + rejectedMs })
      this.#activeLately.delete(digest)
      throw why
    }
  }

  async #introspect(token: string, isNew: boolean): Promise<IntrospectionResult> {
    if (this.#inFlight >= maxConcurrent || (isNew && this.#newInFlight >= maxConcurrentNew))
      throw new VerifierUnavailable('introspection-busy', 'too many tokens are being asked about')
    this.#inFlight++
    if (isNew) this.#newInFlight++
    try {
      const result = await this.#options.introspect(token)
      this.#health.recordSuccess()
      return result
    } catch (error) {
      this.#health.recordFailure(errorMessage(error))
      throw error
    } finally {
      this.#inFlight--
      if (isNew) this.#newInFlight--
    }
  }
}
