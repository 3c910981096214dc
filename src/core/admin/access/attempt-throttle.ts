import { LRUCache } from 'lru-cache'
import { now } from '../../lib/clock.ts'
import { toNetworkKey } from '../../lib/net/addresses.ts'
import { consumeToken, isAllowed, msUntilNextToken, type RateLimit, type TokenBucket } from '../../lib/token-bucket.ts'
import type { AdminError } from '../admin-error.ts'

/** Throttles attempts to prove who one is, those of all clients together. */
export class AttemptThrottle {
  readonly #limit: RateLimit
  readonly #bucket: TokenBucket = { used: 0, at: now() }

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /** Returns after how many seconds another may be made (null: this one may). */
  tryAcquire(): number | null {
    const outcome = consumeToken(this.#bucket, this.#limit, now())
    return isAllowed(outcome) ? null : Math.ceil(msUntilNextToken(outcome, this.#limit) / 1000)
  }

  /** Gives an attempt back: it was right. */
  refund(): void {
    this.#bucket.used = Math.max(0, this.#bucket.used - 1)
  }
}

// A connection has a real address: to come from many takes many machines, or a network of IPv6, which counts as one.
const ipv6Prefix = 64

// More than the listener has connections.
const maxAddresses = 1024

/**
 * Creates throttles by address: a client with wrong tokens keeps no operator out who comes from elsewhere. Operators
 * behind one tunnel share its address.
 */
export const throttlesByAddress = (limit: RateLimit): ((address: string) => AttemptThrottle) => {
  // By network. The one that has tried nothing for longest makes room.
  const all = new LRUCache<string, AttemptThrottle>({ max: maxAddresses, memoMethod: () => new AttemptThrottle(limit) })
  return (address) => all.memo(toNetworkKey(address, ipv6Prefix))
}

export const tooManyAttempts = (seconds: number): AdminError => ({
  status: 429,
  code: 'too-many-attempts',
  detail: `too many attempts: try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}`,
  headers: { 'Retry-After': `${seconds}` },
})
