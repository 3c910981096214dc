import { now } from '../../clock.ts'
import { type Bucket, isTaken, type Limit, nextInMs, takeOf } from '../../shared/limiter/bucket.ts'

// A person mistypes now and then. Of all who try together, because an address costs whoever guesses nothing.
const limit: Limit = { policy: 'login', perMs: 2 / 1000, burst: 5 }

/** Counts attempts at logging in, of all who try. */
export class Attempts {
  readonly #bucket: Bucket = { used: 0, at: now() }

  /** Takes one; tells after how many seconds another may be made (null: this one may). */
  take(): number | null {
    const outcome = takeOf(this.#bucket, limit, now())
    return isTaken(outcome) ? null : Math.ceil(nextInMs(outcome, limit) / 1000)
  }
}
