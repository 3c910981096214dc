import { LRUCache } from 'lru-cache'
import { wallClock } from '../../clock.ts'
import type { Question, Server } from '../../shared/server.ts'
import { type Claims, checkClaims, type Expected } from './claims.ts'
import { Refused, Unavailable } from './refused.ts'
import { Standing, type StandingState } from './standing.ts'
import { digestOf, type Known, TokenCache } from './token-cache.ts'

/** Is as whom the gateway asks: the server tells nobody else (RFC 7662 §2.1). */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** What the server says of a token: of a good one its claims, and how many characters they were. */
export type Introspected = Awaited<ReturnType<typeof introspect>>

/**
 * Asks an authorization server about a token (RFC 7662). Resolves with what it says of one that is good, or null: it is not. Rejects with
 * {@link Unavailable}, and a reason that holds neither token nor secret.
 */
export const introspect = async (server: Server, credentials: Credentials, token: string) => {
  const { status, text } = await server.ask(questionOf(credentials, token)).catch((error: unknown) => {
    throw new Unavailable('introspection-server', error instanceof Error ? error.message : String(error))
  })
  if (status !== 200)
    throw new Unavailable(
      'introspection-server',
      `it answered ${status}${status === 401 ? ': wrong client credentials' : ''}`,
    )
  const claims = objectOf(text)
  if (claims === null) throw new Unavailable('introspection-server', 'its answer is not a JSON object')
  // RFC 7662 §2.2: a boolean. "true", or 1, is no word to let anybody in on.
  const { active } = claims
  if (typeof active !== 'boolean') throw new Unavailable('introspection-server', 'its answer has no boolean active')
  return active ? { claims, size: text.length } : null
}

const questionOf = ({ clientId, clientSecret }: Credentials, token: string): Question => ({
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

const objectOf = (text: string): Claims | null => {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Claims) : null
  } catch {
    return null
  }
}

// A wrong token that comes again and again is asked about once in so long: one that has only just been made known may be tried again soon.
const wrongMs = 1000
const maxWrong = 10_000
// More than that at once, each with another token, are not worth the server's while, nor that anybody waits for them.
const maxAsked = 256
const calmMs = 1000

/** Is what an introspector needs. */
export interface IntrospectorOptions extends Expected {
  /** Asks about a token; null: it is not good. Rejects with {@link Unavailable}. */
  readonly ask: (token: string) => Promise<Introspected>
  /** How long an answer is believed; 0: not at all. A token that is revoked is let in for so long. */
  readonly cache: number
  /** Is told when the server cannot be asked any more, and why, and when it can be again (null). */
  readonly onChange: (error: string | null) => void
}

/** Finds out of the authorization server what tokens are worth. */
export class Introspector {
  readonly #options: IntrospectorOptions
  readonly #standing: Standing
  readonly #good = new TokenCache<Claims>(() => true)
  /** Until when, in ms since the epoch, a token is taken to be wrong. Apart, so that a flood of them drives out none that is good. */
  readonly #wrong = new LRUCache<string, number>({ max: maxWrong })
  #asked = 0

  constructor(options: IntrospectorOptions) {
    this.#options = options
    this.#standing = new Standing(options.onChange, calmMs)
  }

  /** Finds what is known of a token, or asks. Throws or rejects with {@link Refused} or {@link Unavailable}. */
  claimsOf(token: string): Claims | Promise<Claims> {
    const digest = digestOf(token)
    const known = this.#good.find(digest)
    if (known !== null) return known
    if ((this.#wrong.get(digest) ?? 0) > wallClock()) throw new Refused('not-active', notActive)
    return this.#good.learn(digest, () => this.#ask(digest, token))
  }

  state(): StandingState {
    return this.#standing.state()
  }

  async #ask(digest: string, token: string): Promise<Known<Claims>> {
    const answer = await this.#answerOn(token)
    try {
      if (answer === null) throw new Refused('not-active', notActive)
      const { claims, size } = answer
      const expiresAt = checkClaims(claims, this.#options) ?? Number.POSITIVE_INFINITY
      const until = Math.min(expiresAt, wallClock() + this.#options.cache)
      return { value: claims, until, size }
    } catch (error) {
      this.#wrong.set(digest, wallClock() + wrongMs)
      throw error
    }
  }

  async #answerOn(token: string): Promise<Introspected> {
    if (this.#asked >= maxAsked) throw new Unavailable('introspection-busy', 'too many tokens are being asked about')
    this.#asked++
    try {
      const answer = await this.#options.ask(token)
      this.#standing.answered()
      return answer
    } catch (error) {
      this.#standing.failed(error instanceof Error ? error.message : String(error))
      throw error
    } finally {
      this.#asked--
    }
  }
}

const notActive = 'the authorization server says that it is not active'
