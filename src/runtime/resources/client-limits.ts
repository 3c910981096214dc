import type { ClientConfig, LimitsConfig } from '../../config/config.ts'
import type { RateLimiterRegistry, RateLimiterState } from '../../shared/rate-limiter/rate-limiter-registry.ts'
import type { RateLimit, RateLimiter } from '../../shared/rate-limiter/token-bucket.ts'

/** Is what bounds clients, each by what its entry says. */
export interface ClientLimits {
  /** How many have a rate; none: nobody is counted. */
  readonly rateLimitedCount: number
  /** How many have a bound of what is in flight. */
  readonly concurrencyLimitedCount: number
  /** Finds what counts a client; undefined: nothing does. */
  getRateLimiter(client: string): RateLimiter | undefined
  /** Tells how many exchanges a client may have in flight in this process; null: any number. */
  getConcurrencyLimit(client: string): number | null
  /** Tells how the counting does; null: there is none. */
  state(): RateLimiterState | null
  release(): void
}

/** Takes what counts clients: one limiter for all that have the same rate and burst, since each counts by the client's id. */
export const acquireClientLimits = (
  clients: readonly ClientConfig[],
  { redis }: LimitsConfig,
  limiters: RateLimiterRegistry,
): ClientLimits => {
  const { limits, rateOf, bounds } = parseClientLimits(clients)
  const leases = limits.map((limit) => limiters.acquire(limit, redis))
  return {
    rateLimitedCount: rateOf.size,
    concurrencyLimitedCount: bounds.size,
    getRateLimiter(client) {
      const index = rateOf.get(client)
      return index === undefined ? undefined : leases[index]?.limiter
    },
    getConcurrencyLimit(client) {
      const max = bounds.get(client)
      return max === undefined ? null : limiters.localShare(max)
    },
    state: () => mergeLimiterStates(leases.map((each) => each.state())),
    release() {
      for (const each of leases) each.release()
    },
  }
}

/** Is what entries of clients say of how much each may do. */
interface ParsedClientLimits {
  /** The different ones. */
  readonly limits: readonly RateLimit[]
  /** Which of them is whose, by the client's id. */
  readonly rateOf: ReadonlyMap<string, number>
  readonly bounds: ReadonlyMap<string, number>
}

// What is frozen stays what it is: a reload that leaves all clients as they are need not look at each of thousands.
const parsedByList = new WeakMap<readonly ClientConfig[], ParsedClientLimits>()

const parseClientLimits = (clients: readonly ClientConfig[]): ParsedClientLimits => {
  const before = parsedByList.get(clients)
  if (before !== undefined) return before
  const indexes = new Map<string, number>()
  const limits: RateLimit[] = []
  const rateOf = new Map<string, number>()
  const bounds = new Map<string, number>()
  for (const { id, rate, burst, concurrency } of clients) {
    if (concurrency !== null) bounds.set(id, concurrency)
    if (rate === null) continue
    const limit: RateLimit = { policy: 'client', perMs: rate.count / rate.perMs, burst: burst ?? rate.count }
    const name = `${limit.perMs} ${limit.burst}`
    const index = indexes.get(name) ?? limits.push(limit) - 1
    indexes.set(name, index)
    rateOf.set(id, index)
  }
  const parsed = { limits, rateOf, bounds }
  if (Object.isFrozen(clients)) parsedByList.set(clients, parsed)
  return parsed
}

/** Makes one state of several limiters, which share one Redis or none. */
export const mergeLimiterStates = (states: readonly RateLimiterState[]): RateLimiterState | null => {
  const [first] = states
  return first === undefined ? null : { ...first, evictions: states.reduce((sum, { evictions }) => sum + evictions, 0) }
}
