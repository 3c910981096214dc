import { now } from '../../clock.ts'
import type { RetryConfig } from '../../config/config.ts'

// What time brings in so many seconds is there from the start, and all that time ever saves up.
const advanceSeconds = 1

// Of how many requests the share is saved up: enough for a hiccup, too little to double the load of an upstream that breaks down.
const rememberedRequests = 100

/**
 * Bounds the retries to an upstream: each request brings a share of a token, time brings some more, each retry takes one. So many retries
 * are made when few fail, and hardly any when all do: they would only keep down what is overloaded.
 *
 * What it starts with is what time will bring, paid in advance: until that time is over, time brings nothing. Whenever as much is there
 * again, it counts as such an advance. So even an upstream that was quiet, and then fails at every request of a steady load, is sent no
 * more retries than the share of those requests and the floor of the time that they took, once they took as long as the advance.
 */
export class RetryBudget {
  readonly #share: number
  readonly #floorPerMs: number
  readonly #start: number
  readonly #cap: number
  readonly #advanceMs: number
  #tokens: number
  /** Since when time has brought nothing; in the future while an advance is paid back. */
  #since: number
  /** Requests whose share has not been added yet. */
  #requests = 0

  constructor({ share, floor }: RetryConfig['budget']) {
    this.#share = share
    this.#floorPerMs = floor / 1000
    // With a floor of less than one a second, the first one would never be whole.
    this.#start = floor === 0 ? 0 : Math.max(1, floor * advanceSeconds)
    this.#cap = Math.max(1, this.#start, share * rememberedRequests)
    this.#advanceMs = floor === 0 ? 0 : this.#start / this.#floorPerMs
    this.#tokens = this.#start
    this.#since = now()
  }

  /** Counts a request, however often it is sent. */
  requested(): void {
    this.#requests++
  }

  /** Takes a token for a retry; false: there is none. */
  take(): boolean {
    this.#add()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** Tells how many retries are allowed just now. */
  get left(): number {
    this.#add()
    return Math.floor(this.#tokens)
  }

  #add(): void {
    const at = now()
    if (at > this.#since) {
      const brought = (at - this.#since) * this.#floorPerMs
      if (this.#tokens < this.#start) this.#tokens = Math.min(this.#start, this.#tokens + brought)
      this.#since = at
    }
    this.#tokens = Math.min(this.#cap, this.#tokens + this.#requests * this.#share)
    this.#requests = 0
    if (this.#tokens >= this.#start) this.#since = at + this.#advanceMs
  }
}
