import { LRUCache } from 'lru-cache'
import { wallClock } from '../../../clock.ts'
import { type Claims, checkClaims, type Expected } from '../claims.ts'
import { Refused, Unavailable } from '../refused.ts'
import { Standing, type StandingState } from '../standing.ts'
import { digestOf, type Known, TokenCache } from '../token-cache.ts'
import type { Introspected } from './ask.ts'

// A wrong token that comes again and again is asked about once in so long: one that has only just been made known may be tried again soon.
const wrongMs = 1000
const maxWrong = 10_000
// More than that at once, each with another token, are not worth the server's while, nor that anybody waits for them.
const maxAsked = 256
const calmMs = 1000

/** Is what an introspector needs. */
export interface IntrospectorOptions extends Expected {
  /** Asks about a token; null: it is not good. Rejects with {@link Unavailable}. */
  readonly ask: (token: string) => Promise<Introspected | null>
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

  async #answerOn(token: string): Promise<Introspected | null> {
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
