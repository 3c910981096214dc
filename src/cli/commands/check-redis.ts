import { withTimeout } from '../../clock.ts'
import type { Config, RedisConfig } from '../../config/config.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { connectRedis } from '../../shared/redis/redis-connection.ts'
import { errorText } from '../../shared/redis/redis-error.ts'
import { describeRedis, redactSecrets } from '../../shared/redis/redis-settings.ts'

const timeoutMs = 2000

/**
 * Tries each Redis as the gateway does before it uses one: it connects, to all masters, and writes to each. A warning
 * names one that cannot be used within 2 s. `provenance` and `file` are those of the configuration.
 */
export const checkRedis = async (
  { limits, cache }: Config,
  provenance: ProvenanceMap,
  file: string,
): Promise<readonly ConfigProblem[]> => {
  const used = { 'limits.redis': limits.redis, 'cache.redis': cache.redis }
  const checked = Object.entries(used).map(async ([key, redis]): Promise<readonly ConfigProblem[]> => {
    const reason = redis && (await findReason(redis))
    if (redis === null || reason === null) return []
    const path = `${key}.${placeOf(redis)}`
    const { line = 1, column = 1 } = provenance.get(path) ?? {}
    const message = `Redis (${describeRedis(redis)}) cannot be used from here: ${reason}`
    return [
      { file, line, column, path, message, expected: 'a Redis that takes what the gateway writes', found: reason },
    ]
  })
  return (await Promise.all(checked)).flat()
}

const placeOf = ({ url, sentinels }: RedisConfig): string => {
  if (url !== null) return 'url'
  return sentinels === null ? 'cluster' : 'sentinels'
}

/** Finds why a Redis cannot be used. Null: it can. */
const findReason = async (redis: RedisConfig): Promise<string | null> => {
  try {
    return (await withTimeout(probe(redis), timeoutMs)) === null ? `no answer within ${timeoutMs}ms` : null
  } catch (error) {
    return redactSecrets(errorText(error), redis)
  }
}

const probe = async (redis: RedisConfig): Promise<true> => {
  const connection = await connectRedis(redis)(() => {})
  try {
    return await connection.probe()
  } finally {
    connection.destroy()
  }
}
