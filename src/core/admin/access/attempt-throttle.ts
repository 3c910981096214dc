import { LRUCache } from 'lru-cache'
import { now } from '../../lib/clock.ts'
import { toNetworkKey } from '../../lib/net/addresses.ts'
import { consumeToken, isAllowed, msUntilNextToken, type RateLimit, type TokenBucket } from '../../lib/token-bucket.ts'
import type { AdminError } from '../admin-error.ts'

/** Throttles authentication attempts; all its callers share one bucket. */
export class AttemptThrottle {
  readonly #limit: RateLimit
  readonly #bucket: TokenBucket = { used: 0, at: now() }

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /** Returns the seconds until the next allowed attempt; null: allowed now. */
  tryAcquire(): number | null {
    const outcome = consumeToken(this.#bucket, this.#limit, now())
    return isAllowed(outcome) ? null : Math.ceil(msUntilNextToken(outcome, this.#limit) / 1000)
  }

  refund(): void {
    this.#bucket.used = Math.max(0, this.#bucket.used - 1)
  }
}

// An IPv6 client has a whole /64 network, which counts as one address. TCP addresses cannot be forged.
const ipv6Prefix = 64

const maxAddresses = 1024

/** One bucket for each address: a client with wrong tokens locks out no operator at another address. */
export const throttlesByAddress = (limit: RateLimit): ((address: string) => AttemptThrottle) => {
  const all = new LRUCache<string, AttemptThrottle>({ max: maxAddresses, memoMethod: () => new AttemptThrottle(limit) })
  return (address) => all.memo(toNetworkKey(address, ipv6Prefix))
}

export const tooManyAttempts = (seconds: number): AdminError => ({
  status: 429,
  code: 'too-many-attempts',
  detail: `too many attempts: try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}`,
  headers: { 'Retry-After': `${seconds}` },
})
