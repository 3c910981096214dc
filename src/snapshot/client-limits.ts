import type { ClientConfig, LimitsConfig } from '../config/config.ts'
import type { Limit, Limiter } from '../shared/limiter/bucket.ts'
import type { HeldState, Limiters } from '../shared/limiter/limiters.ts'

/** Is what bounds clients, each by what its entry says. */
export interface ClientLimits {
  /** How many have a rate; none: nobody is counted. */
  readonly rated: number
  /** How many have a bound of what is in flight. */
  readonly bounded: number
  /** Finds what counts a client; undefined: nothing does. */
  limiterOf(client: string): Limiter | undefined
  /** Tells how many exchanges a client may have in flight in this process; null: any number. */
  boundOf(client: string): number | null
  /** Tells how the counting does; null: there is none. */
  state(): HeldState | null
  release(): void
}

/** Takes what counts clients: one limiter for all that have the same rate and burst, since each counts by the client's id. */
export const holdClientLimits = (
  clients: readonly ClientConfig[],
  { redis }: LimitsConfig,
  limiters: Limiters,
): ClientLimits => {
  const { limits, rateOf, bounds } = termsOf(clients)
  const held = limits.map((limit) => limiters.hold(limit, redis))
  return {
    rated: rateOf.size,
    bounded: bounds.size,
    limiterOf(client) {
      const nth = rateOf.get(client)
      return nth === undefined ? undefined : held[nth]?.limiter
    },
    boundOf(client) {
      const bound = bounds.get(client)
      return bound === undefined ? null : limiters.partOf(bound)
    },
    state: () => stateOf(held.map((each) => each.state())),
    release() {
      for (const each of held) each.release()
    },
  }
}

/** Is what entries of clients say of how much each may do. */
interface Terms {
  /** The different ones. */
  readonly limits: readonly Limit[]
  /** Which of them is whose, by the client's id. */
  readonly rateOf: ReadonlyMap<string, number>
  readonly bounds: ReadonlyMap<string, number>
}

// What is frozen stays what it is: a reload that leaves all clients as they are need not look at each of thousands.
const known = new WeakMap<readonly ClientConfig[], Terms>()

const termsOf = (clients: readonly ClientConfig[]): Terms => {
  const before = known.get(clients)
  if (before !== undefined) return before
  const nths = new Map<string, number>()
  const limits: Limit[] = []
  const rateOf = new Map<string, number>()
  const bounds = new Map<string, number>()
  for (const { id, rate, burst, concurrency } of clients) {
    if (concurrency !== null) bounds.set(id, concurrency)
    if (rate === null) continue
    const limit: Limit = { policy: 'client', perMs: rate.count / rate.perMs, burst: burst ?? rate.count }
    const name = `${limit.perMs} ${limit.burst}`
    const nth = nths.get(name) ?? limits.push(limit) - 1
    nths.set(name, nth)
    rateOf.set(id, nth)
  }
  const terms = { limits, rateOf, bounds }
  if (Object.isFrozen(clients)) known.set(clients, terms)
  return terms
}

/** Makes one state of several limiters, which share one Redis or none. */
export const stateOf = (states: readonly HeldState[]): HeldState | null => {
  const [first] = states
  return first === undefined ? null : { ...first, evictions: states.reduce((sum, { evictions }) => sum + evictions, 0) }
}
