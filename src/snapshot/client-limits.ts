import type { ClientConfig, ClientRateConfig } from '../config/auth-config.ts'
import type { LimitsConfig } from '../config/limits-config.ts'
import type { Limit } from '../shared/limiter/bucket.ts'
import type { Limiter } from '../shared/limiter/limiter.ts'
import type { Held, HeldState, Limiters } from '../shared/limiter/limiters.ts'

/** Is what bounds clients, each by what its entry says. */
export interface ClientLimits {
  /** How many have a rate; none: nobody is counted. */
  readonly rated: number
  /** How many have a bound of what is in flight. */
  readonly bounded: number
  /** Finds what counts a client; undefined: nothing does. */
  limiterOf(client: string): Limiter | undefined
  /** Tells how many exchanges a client may have in flight; null: any number. */
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
  const held = new Map<string, Held>()
  const counting = new Map<string, Limiter>()
  const bounds = new Map<string, number>()
  for (const { id, rate, concurrency } of clients) {
    if (concurrency !== null) bounds.set(id, concurrency)
    if (rate === null) continue
    const name = `${rate.rate.count} ${rate.rate.perMs} ${rate.burst}`
    const one = held.get(name) ?? limiters.hold(limitOf(rate), redis)
    held.set(name, one)
    counting.set(id, one.limiter)
  }
  return {
    rated: counting.size,
    bounded: bounds.size,
    limiterOf: (client) => counting.get(client),
    boundOf: (client) => bounds.get(client) ?? null,
    state: () => stateOf([...held.values()].map((each) => each.state())),
    release() {
      for (const each of held.values()) each.release()
    },
  }
}

const limitOf = ({ rate, burst }: ClientRateConfig): Limit => ({
  policy: 'client',
  perMs: rate.count / rate.perMs,
  burst,
})

/** Makes one state of several limiters, which share one Redis or none. */
export const stateOf = (states: readonly HeldState[]): HeldState | null => {
  const [first] = states
  return first === undefined ? null : { ...first, evictions: states.reduce((sum, { evictions }) => sum + evictions, 0) }
}

/** Bounds nobody. */
export const noClientLimits: ClientLimits = {
  rated: 0,
  bounded: 0,
  limiterOf: () => undefined,
  boundOf: () => null,
  state: () => null,
  release: () => {},
}
