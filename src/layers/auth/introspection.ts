import { LRUCache } from 'lru-cache'
import { epochMs } from '../../clock.ts'
import type { HttpClient, HttpRequest } from '../../shared/http-client.ts'
import { type ClaimExpectations, type Claims, checkClaims } from './claims.ts'
import { DependencyHealth, type DependencyHealthState } from './dependency-health.ts'
import { CredentialRejected, VerifierUnavailable } from './errors.ts'
import { type CachedToken, TokenCache, tokenDigest } from './token-cache.ts'

/** Is as whom the gateway asks: the server tells nobody else (RFC 7662 §2.1). */
export interface IntrospectionCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** What the server says of a token: of a good one its claims, and how many characters they were. */
export type IntrospectionResult = Awaited<ReturnType<typeof introspect>>

/**
 * Asks an authorization server about a token (RFC 7662). Resolves with what it says of one that is good, or null: it is not. Rejects with
 * {@link VerifierUnavailable}, and a reason that holds neither token nor secret.
 */
export const introspect = async (server: HttpClient, credentials: IntrospectionCredentials, token: string) => {
  const { status, text } = await server
    .request(createIntrospectionRequest(credentials, token))
    .catch((error: unknown) => {
      throw new VerifierUnavailable('introspection-server', error instanceof Error ? error.message : String(error))
    })
  if (status !== 200)
    throw new VerifierUnavailable(
      'introspection-server',
      `it answered ${status}${status === 401 ? ': wrong client credentials' : ''}`,
    )
  const claims = parseObject(text)
  if (claims === null) throw new VerifierUnavailable('introspection-server', 'its answer is not a JSON object')
  // RFC 7662 §2.2: a boolean. "true", or 1, is no word to let anybody in on.
  const { active } = claims
  if (typeof active !== 'boolean')
    throw new VerifierUnavailable('introspection-server', 'its answer has no boolean active')
  return active ? { claims, size: text.length } : null
}

const createIntrospectionRequest = (
  { clientId, clientSecret }: IntrospectionCredentials,
  token: string,
): HttpRequest => ({
  method: 'POST',
  headers: {
    accept: 'application/json',
    authorization: `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  },
  body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
})

// RFC 6749 §2.3.1: each is encoded as a form would have it, before it is part of Basic.
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

const parseObject = (text: string): Claims | null => {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Claims) : null
  } catch {
    return null
  }
}

// A wrong token that comes again and again is asked about once in so long: one that has only just been made known may be tried again soon.
const inactiveMs = 1000
const maxInactive = 10_000
// More than that at once, each with another token, are not worth the server's while, nor that anybody waits for them.
const maxConcurrent = 256
const recoveryMs = 1000

/** Is what an introspector needs. */
export interface IntrospectorOptions extends ClaimExpectations {
  /** Asks about a token; null: it is not good. Rejects with {@link VerifierUnavailable}. */
  readonly introspect: (token: string) => Promise<IntrospectionResult>
  /** How long an answer is believed; 0: not at all. A token that is revoked is let in for so long. */
  readonly cache: number
  /** Is told when the server cannot be asked any more, and why, and when it can be again (null). */
  readonly onChange: (error: string | null) => void
}

/** Finds out of the authorization server what tokens are worth. */
export class Introspector {
  readonly #options: IntrospectorOptions
  readonly #health: DependencyHealth
  readonly #active = new TokenCache<Claims>(() => true)
  /** Until when, in ms since the epoch, a token is taken to be wrong. Apart, so that a flood of them drives out none that is good. */
  readonly #inactive = new LRUCache<string, number>({ max: maxInactive })
  #inFlight = 0

  constructor(options: IntrospectorOptions) {
    this.#options = options
    this.#health = new DependencyHealth(options.onChange, recoveryMs)
  }

  /** Finds what is known of a token, or asks. Throws or rejects with {@link CredentialRejected} or {@link VerifierUnavailable}. */
  getClaims(token: string): Claims | Promise<Claims> {
    const digest = tokenDigest(token)
    const cached = this.#active.find(digest)
    if (cached !== null) return cached
    if ((this.#inactive.get(digest) ?? 0) > epochMs()) throw new CredentialRejected('not-active', inactiveMessage)
    return this.#active.load(digest, () => this.#load(digest, token))
  }

  state(): DependencyHealthState {
    return this.#health.state()
  }

  async #load(digest: string, token: string): Promise<CachedToken<Claims>> {
    const result = await this.#introspect(token)
    try {
      if (result === null) throw new CredentialRejected('not-active', inactiveMessage)
      const { claims, size } = result
      const expiresAt = checkClaims(claims, this.#options) ?? Number.POSITIVE_INFINITY
      const until = Math.min(expiresAt, epochMs() + this.#options.cache)
      return { value: claims, expiresAt: until, size }
    } catch (error) {
      this.#inactive.set(digest, epochMs() + inactiveMs)
      throw error
    }
  }

  async #introspect(token: string): Promise<IntrospectionResult> {
    if (this.#inFlight >= maxConcurrent)
      throw new VerifierUnavailable('introspection-busy', 'too many tokens are being asked about')
    this.#inFlight++
    try {
      const result = await this.#options.introspect(token)
      this.#health.recordSuccess()
      return result
    } catch (error) {
      this.#health.recordFailure(error instanceof Error ? error.message : String(error))
      throw error
    } finally {
      this.#inFlight--
    }
  }
}

const inactiveMessage = 'the authorization server says that it is not active'
