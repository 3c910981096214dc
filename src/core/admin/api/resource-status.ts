/**
 * The members of /status about limits, tokens, the cache and idempotency: how full each is, and the health of the
 * servers behind it.
 */

import type { IssuerKeysState } from '../../../features/auth/tokens/jwt/jwks-cache.ts'
import { zeroRedisCacheCounts } from '../../../features/cache/redis/redis-cache-store.ts'
import { zeroCacheOutcomes } from '../../exchange/exchange-outcomes.ts'
import {
  asBoolean,
  asList,
  asMap,
  asNullable,
  asNumber,
  asNumbers,
  asObject,
  asText,
  asWord,
  type Decoded,
} from '../../lib/text/decode.ts'
import { roundToTenths } from '../../lib/text/units.ts'
import { sum } from '../../log/sum-reports.ts'
import type { CacheReport } from '../../runtime/report/cache-report.ts'
import type { IdempotencyReport } from '../../runtime/report/idempotency-report.ts'
import type { LimitsReport } from '../../runtime/report/limits-report.ts'
import type { TokensReport } from '../../runtime/report/tokens-report.ts'
import { formatOptionalTime, formatTime } from '../format-time.ts'

export const limitsShape = asObject({
  /** Null: there is no rate limit, and no proof is counted in Redis. */
  rate: asNullable(
    asObject({
      store: asWord<'memory' | 'redis'>(),
      server: asNullable(asText),
      state: asWord<'shared' | 'local'>(),
      since: asText,
      reason: asNullable(asText),
      where: asNullable(asText),
      evictions: asNumber,
    }),
  ),
  concurrency: asList(asObject({ key: asText, inFlight: asNumber, limit: asNumber })),
  eventLoop: asNullable(
    asObject({ delayMs: asNumber, limitMs: asNumber, sheds: asBoolean, since: asText, where: asNullable(asText) }),
  ),
})

/** The health of a server that tokens are checked with; `where` names some of several workers. */
const dependencyHealthMembers = {
  error: asNullable(asText),
  since: asText,
  lastSuccess: asNullable(asText),
  where: asNullable(asText),
}

const issuerKeysShape = asObject({ source: asWord<'url' | 'file'>(), keys: asNumber, ...dependencyHealthMembers })

export const tokensShape = asObject({
  jwt: asNullable(issuerKeysShape),
  introspection: asNullable(asObject(dependencyHealthMembers)),
  operators: asNullable(issuerKeysShape),
  /** How full the replay cache of proofs is. */
  proofs: asNullable(asObject({ remembered: asNumber, room: asNumber })),
})

export const cacheShape = asObject({
  bytes: asNumber,
  maxBytes: asNumber,
  evictions: asNumber,
  /** Null: there is no second level. */
  redis: asNullable(
    asObject({
      server: asText,
      state: asWord<'shared' | 'local'>(),
      since: asText,
      reason: asNullable(asText),
      ...asNumbers(zeroRedisCacheCounts),
      where: asNullable(asText),
    }),
  ),
  /** `hitRatio` is of the requests that did not bypass the cache; null: there was none. */
  operations: asMap(
    asObject({ bytes: asNumber, entries: asNumber, hitRatio: asNullable(asNumber), ...asNumbers(zeroCacheOutcomes) }),
  ),
})

export const idempotencyShape = asObject({
  store: asWord<'memory' | 'redis'>(),
  /** `unavailable`: the store cannot be asked, so nothing new is remembered. */
  state: asWord<'shared' | 'local' | 'unavailable'>(),
  since: asText,
  reason: asNullable(asText),
  where: asNullable(asText),
  /** How many keys. Null, as the members below: the store does not tell. */
  entries: asNullable(asNumber),
  maxEntries: asNullable(asNumber),
  bytes: asNullable(asNumber),
  maxBytes: asNullable(asNumber),
  inProgress: asNullable(asNumber),
  unknown: asNullable(asNumber),
  oldestUnknown: asNullable(asText),
  /** Responses that were given up for want of room. */
  dropped: asNumber,
  /** Keys that were refused for want of room. */
  refused: asNumber,
})

export const limitsStatus = ({ rate, concurrency, eventLoop }: LimitsReport): Decoded<typeof limitsShape> => ({
  rate: rate && { ...rate, since: formatTime(rate.since) },
  concurrency,
  eventLoop: eventLoop && {
    ...eventLoop,
    delayMs: roundToTenths(eventLoop.delayMs),
    since: formatTime(eventLoop.since),
  },
})

export const tokensStatus = (
  { jwt, introspection, proofs }: TokensReport,
  operatorKeys: IssuerKeysState | null,
): Decoded<typeof tokensShape> => ({
  jwt: jwt && issuerKeys(jwt),
  introspection: introspection && dependencyHealth(introspection),
  operators: operatorKeys && issuerKeys({ ...operatorKeys, where: null }),
  proofs,
})

const issuerKeys = (jwt: NonNullable<TokensReport['jwt']>) => ({
  source: jwt.source,
  keys: jwt.keys,
  ...dependencyHealth(jwt),
})

const dependencyHealth = ({ error, since, lastSuccess, where }: NonNullable<TokensReport['introspection']>) => ({
  error,
  since: formatTime(since),
  lastSuccess: formatOptionalTime(lastSuccess),
  where,
})

export const cacheStatus = ({ redis, operations, ...store }: CacheReport): Decoded<typeof cacheShape> => ({
  ...store,
  redis: redis && redisStatus(redis),
  operations: Object.fromEntries(
    operations.map(({ operation, bytes, entries, outcomes }) => {
      const { bypass, ...lookups } = outcomes
      const total = sum(Object.values(lookups))
      const hitRatio = total === 0 ? null : Math.round(((outcomes.hit + outcomes.stale) / total) * 1000) / 1000
      return [operation, { bytes, entries, hitRatio, ...outcomes }]
    }),
  ),
})

export const idempotencyStatus = (report: IdempotencyReport): Decoded<typeof idempotencyShape> => ({
  ...report,
  since: formatTime(report.since),
  oldestUnknown: formatOptionalTime(report.oldestUnknown),
})

const redisStatus = ({ server, where, counts, ...redis }: NonNullable<CacheReport['redis']>) => ({
  server,
  ...redis,
  since: formatTime(redis.since),
  ...counts,
  where,
})
