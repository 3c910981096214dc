/** What /status says of limits, tokens and the cache: how full each is, and how it stands with the servers behind it. */
import { noOutcomes } from '../exchange.ts'
import { noStoreCounts } from '../layers/cache/second/redis-store.ts'
import { flag, list, map, nullable, number, numbers, type Shaped, shape, text, word } from '../shared/shape.ts'
import type { CacheReport } from '../snapshot/cache-report.ts'
import type { LimitsReport } from '../snapshot/limits-report.ts'
import type { TokensReport } from '../snapshot/tokens-report.ts'
import { tenths, time } from './time.ts'

/** How near the gateway is to the bounds of what it takes on. */
export const limitsShape = shape({
  /** Null: nothing is counted by rate. */
  rate: nullable(
    shape({
      store: word<'memory' | 'redis'>(),
      state: word<'shared' | 'local'>(),
      since: text,
      reason: nullable(text),
      where: nullable(text),
      evictions: number,
    }),
  ),
  concurrency: list(shape({ key: text, inFlight: number, limit: number })),
  /** Null: its bound is off. */
  eventLoop: nullable(shape({ delayMs: number, limitMs: number, sheds: flag, since: text, where: nullable(text) })),
})

/** How it stands with a server that tokens are checked by; `where` names some of several workers. */
const standingMembers = { error: nullable(text), since: text, lastSuccess: nullable(text), where: nullable(text) }

/** What tokens are checked by. Null: what it stands for is not used. */
export const tokensShape = shape({
  jwt: nullable(shape({ source: word<'url' | 'file'>(), keys: number, ...standingMembers })),
  introspection: nullable(shape(standingMembers)),
  /** How full the memory of proofs is. */
  proofs: nullable(shape({ remembered: number, room: number })),
})

/** What is stored of responses, and how often it is of use. */
export const cacheShape = shape({
  bytes: number,
  maxBytes: number,
  evictions: number,
  /** Null: there is no second level. */
  redis: nullable(
    shape({
      state: word<'shared' | 'local'>(),
      since: text,
      reason: nullable(text),
      ...numbers(noStoreCounts),
      where: nullable(text),
    }),
  ),
  /** `hitRatio` is of the requests that did not pass the cache by; null: there was none. */
  operations: map(shape({ bytes: number, entries: number, hitRatio: nullable(number), ...numbers(noOutcomes) })),
})

/** Makes it of what has been counted. */
export const limitsStatus = ({ rate, concurrency, eventLoop }: LimitsReport): Shaped<typeof limitsShape> => ({
  rate: rate && { ...rate, since: time(rate.since) },
  concurrency,
  eventLoop: eventLoop && { ...eventLoop, delayMs: tenths(eventLoop.delayMs), since: time(eventLoop.since) },
})

/** Makes it of what is known of the servers. */
export const tokensStatus = ({ jwt, introspection, proofs }: TokensReport): Shaped<typeof tokensShape> => ({
  jwt: jwt && { source: jwt.source, keys: jwt.keys, ...standing(jwt) },
  introspection: introspection && standing(introspection),
  proofs,
})

const standing = ({ error, since, lastSuccess, where }: NonNullable<TokensReport['introspection']>) => ({
  error,
  since: time(since),
  lastSuccess: lastSuccess === null ? null : time(lastSuccess),
  where,
})

/** Makes it of what the store and Redis report. */
export const cacheStatus = ({ redis, operations, ...store }: CacheReport): Shaped<typeof cacheShape> => ({
  ...store,
  redis: redis && redisStatus(redis),
  operations: Object.fromEntries(
    operations.map(({ operation, bytes, entries, outcomes }) => {
      const { bypass, ...asked } = outcomes
      const all = Object.values(asked).reduce((sum, count) => sum + count, 0)
      const hitRatio = all === 0 ? null : Math.round(((outcomes.hit + outcomes.stale) / all) * 1000) / 1000
      return [operation, { bytes, entries, hitRatio, ...outcomes }]
    }),
  ),
})

const redisStatus = ({ where, counts, ...redis }: NonNullable<CacheReport['redis']>) => ({
  ...redis,
  since: time(redis.since),
  ...counts,
  where,
})
