import { now } from '../../core/lib/clock.ts'
import type { RetryConfig } from './config.ts'

// The seconds of floor that are paid in advance: the budget starts with them, and the floor saves up no more.
const advanceSeconds = 1

// The number of requests whose share is saved up: enough for a hiccup, too little to double the load of an upstream
// that breaks down.
const rememberedRequests = 100

/**
 * Limits the retries to an upstream: each request adds a share of a token, time adds some more, each retry takes one.
 * So many retries are made when few requests fail, and hardly any when all do: then they would only keep an overloaded
 * upstream down.
 *
 * The budget starts with an advance on what time will add: until that time is over, time adds nothing. Whenever as many
 * tokens are there again, they count as such an advance. So take an upstream that was quiet and then fails at every
 * request of a steady load: once that load lasts as long as the advance, the upstream gets no more retries than the
 * share of those requests and the floor of the time they took.
 */
export class RetryBudget {
  readonly #share: number
  readonly #floorPerMs: number
  readonly #initialTokens: number
  readonly #maxTokens: number
  readonly #advanceMs: number
  #tokens: number
  /** The time from which the floor adds tokens; in the future while an advance is paid back. */
  #since: number
  /** Requests whose share has not been added yet. */
  #requests = 0

  readonly settings: RetryConfig['budget']

  constructor(settings: RetryConfig['budget']) {
    const { share, floor } = settings
    this.settings = settings
    this.#share = share
    this.#floorPerMs = floor / 1000
    // With a floor of less than one token a second, the first token would never be whole.
    this.#initialTokens = floor === 0 ? 0 : Math.max(1, floor * advanceSeconds)
    this.#maxTokens = Math.max(1, this.#initialTokens, share * rememberedRequests)
    this.#advanceMs = floor === 0 ? 0 : this.#initialTokens / this.#floorPerMs
    this.#tokens = this.#initialTokens
    this.#since = now()
  }

  /** Counts a request, however often it is sent. */
  requested(): void {
    this.#requests++
  }

  /** Takes a token for a retry; false: there is none. */
  take(): boolean {
    this.#refill()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  get left(): number {
    this.#refill()
    return Math.floor(this.#tokens)
  }

  #refill(): void {
    const at = now()
    if (at > this.#since) {
      const accrued = (at - this.#since) * this.#floorPerMs
      if (this.#tokens < this.#initialTokens) this.#tokens = Math.min(this.#initialTokens, this.#tokens + accrued)
      this.#since = at
    }
    this.#tokens = Math.min(this.#maxTokens, this.#tokens + this.#requests * this.#share)
    this.#requests = 0
    if (this.#tokens >= this.#initialTokens) this.#since = at + this.#advanceMs
  }
}
