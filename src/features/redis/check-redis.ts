import type { OnlineCheck } from '../../core/cli/built-in-command.ts'
import type { ConfigProblem } from '../../core/config/problem.ts'
import { withTimeout } from '../../core/lib/clock.ts'
import { tryOutside } from '../../core/lib/try.ts'
import { maxCheckMs } from '../../core/upstream/health/preflight.ts'
import type { RedisConfig } from './config.ts'
import { findClusterNodes } from './redis-cluster.ts'
import { connectRedis } from './redis-connection.ts'
import { connectDirectory } from './redis-server.ts'
import {
  describeRedis,
  errorText,
  listRedis,
  type RedisServerOptions,
  redactSecrets,
  redisTopology,
  withReplicas,
} from './redis-settings.ts'
import { watchMaster } from './sentinel.ts'

/** Writes to all masters of each Redis within 2 s, and warns of a Redis that may evict records. */
export const checkRedis: OnlineCheck = async (config, locate) => {
  const checked = listRedis(config).map(
    async ({ section, purpose, redis, replicas }): Promise<readonly ConfigProblem[]> => {
      const at = locate(`${section}.redis.${placeOf(redis)}`)
      const name = describeRedis(redis)
      const reason = await findReason(replicas === undefined ? redis : withReplicas(redis, replicas))
      if (reason !== null) {
        const message = `Redis (${name}) cannot be used from here: ${reason}`
        const expected = 'a Redis that accepts writes'
        return [{ ...at, message, expected, found: reason }]
      }
      const policies = purpose === 'records' ? await withTimeout(readEvictionPolicies(redis), maxCheckMs) : null
      const policy = policies?.find((each) => each !== null && each !== keepingPolicy)
      if (policy == null) return []
      const message = `Redis (${name}) may evict keys when its memory is full (maxmemory-policy ${policy}): repeated requests are then processed again`
      const expected = `maxmemory-policy ${keepingPolicy}`
      return [{ ...at, message, expected, found: policy, hint: policyHint }]
    },
  )
  return (await Promise.all(checked)).flat()
}

const keepingPolicy = 'noeviction'
const policyHint = 'set it in the configuration of Redis; give the cache its own Redis'

const placeOf = ({ url, sentinels }: RedisConfig): string => {
  if (url !== null) return 'url'
  return sentinels === null ? 'cluster' : 'sentinels'
}

/** Null: usable. */
const findReason = async (redis: RedisConfig): Promise<string | null> => {
  try {
    await tryOutside((signal) => probe(redis, signal), { waitMs: maxCheckMs, repeatsSilent: true })
    return null
  } catch (error) {
    return redactSecrets(errorText(error), redis)
  }
}

const probe = async (redis: RedisConfig, signal: AbortSignal): Promise<true> => {
  const connection = await connectRedis(redis)(() => {})
  signal.addEventListener('abort', () => connection.destroy())
  try {
    return await connection.probe()
  } finally {
    connection.destroy()
  }
}

/** `maxmemory-policy`; null: not stated, or this user may not read it. */
const readEvictionPolicies = async (redis: RedisConfig): Promise<readonly (string | null)[]> =>
  Promise.all((await findServers(redis).catch(() => [])).map((server) => readEvictionPolicy(server)))

const readEvictionPolicy = async (server: RedisServerOptions): Promise<string | null> => {
  try {
    const { replies, destroy } = await connectDirectory(server, [['INFO', 'memory']])
    destroy()
    return /^maxmemory_policy:([a-z-]{1,30})\r?$/m.exec(String(replies[0]))?.[1] ?? null
  } catch {
    return null
  }
}

const findServers = async (redis: RedisConfig): Promise<readonly RedisServerOptions[]> => {
  const topology = redisTopology(redis)
  if (topology.kind === 'server') return [topology.server]
  if (topology.kind === 'cluster') return (await findClusterNodes(topology.seeds)).map(topology.toServer)
  const { address, destroy } = await watchMaster(topology.sentinels, topology.name, () => {})
  destroy()
  return [topology.toServer(address)]
}
