import type { AddressLimitConfig, LimitsConfig } from '../config/config.ts'
import { pluck, sum, worstOf } from '../observe/added.ts'
import type { Limit } from '../shared/limiter/bucket.ts'
import type { Held, Limiters } from '../shared/limiter/limiters.ts'
import { type ClientLimits, stateOf } from './client-limits.ts'

/** Is who counts how often clients ask, as plain data. */
export interface RateReport {
  readonly store: 'memory' | 'redis'
  /** `local`: counts are of this gateway alone. */
  readonly state: 'shared' | 'local'
  /** Since when that is so, in ms since the epoch. */
  readonly since: number
  /** Why they are not shared; null: they are, or are not to be. */
  readonly reason: string | null
  /** In which of several workers they are: `in 1 of 2 workers`; null: in all. */
  readonly where: string | null
  /** How many keys were forgotten for want of room before their time. */
  readonly evictions: number
}

/** Is what counts by rate, as long as a snapshot needs it. */
export interface Rates {
  /** Null: it is off. */
  readonly address: Held | null
  readonly clients: ClientLimits
}

/** Makes the limit of an address. */
export const limitOf = ({ rate, burst }: AddressLimitConfig): Limit => ({
  policy: 'address',
  perMs: rate.count / rate.perMs,
  burst,
})

/** Takes what counts by address; null: that is off. */
export const holdAddressLimit = ({ address, redis }: LimitsConfig, limiters: Limiters): Held | null =>
  address && limiters.hold(limitOf(address), redis)

/** Reports on who counts. */
export const reportOnRate = ({ redis }: LimitsConfig, { address, clients }: Rates): RateReport | null => {
  const state = stateOf([address?.state() ?? [], clients.state() ?? []].flat())
  if (state === null) return null
  const { isShared, since, reason, evictions } = state
  return {
    store: redis === null ? 'memory' : 'redis',
    state: isShared ? 'shared' : 'local',
    since,
    reason,
    where: null,
    evictions,
  }
}

/** Makes one report of several workers: the worst that is known of each, and the keys are the primary's. */
export const mergeRates = (primary: RateReport | null, workers: readonly RateReport[]): RateReport | null => {
  const worst = worstOf(workers, ({ state }) => state === 'local')
  const all = [...workers, ...(primary === null ? [] : [primary])]
  return worst === null ? primary : { ...worst, evictions: sum(pluck(all, 'evictions')) }
}
