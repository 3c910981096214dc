import type { RedisLink } from '../redis/link.ts'
import type { Limit } from './bucket.ts'
import type { Limiter } from './limiter.ts'

/** Counts in Redis for several gateways; as this one would without it while Redis is down or slow. */
export const redisLimiter = (
  limit: Limit,
  link: Pick<RedisLink, 'isShared' | 'take'>,
  prefix: string,
  otherwise: Limiter,
): Limiter => ({
  limit,
  take: (key) =>
    link.isShared
      ? link.take(prefix + key, limit.perMs, limit.burst).then((outcome) => outcome ?? otherwise.take(key))
      : otherwise.take(key),
})
