import type { Milliseconds } from '../../core/lib/text/units.ts'
import { connectCluster } from './redis-cluster.ts'
import { connectServer, consumeScript, type RedisServer, type ScriptOptions } from './redis-server.ts'
import { nameServer, type RedisSettings, redisTopology } from './redis-settings.ts'
import { watchMaster } from './sentinel.ts'

export type RedisConnection = ReturnType<typeof toConnection>

/** `onLost`: the connection has ended; called once or more often. Rejects if there is no connection in time. */
export type ConnectRedis = (onLost: (reason: unknown) => void) => Promise<RedisConnection>

/** Only managed-redis.ts reconnects, so that each connection looks up the present masters (decision 060). */
export const connectRedis = (settings: RedisSettings, connectTimeoutMs?: Milliseconds): ConnectRedis => {
  const topology = redisTopology(settings, connectTimeoutMs)
  const probeKey = `${settings.prefix}:probe`
  return async (onLost) => {
    if (topology.kind === 'server') return toConnection(await connectServer(topology.server, onLost), () => [probeKey])
    if (topology.kind === 'cluster') {
      const cluster = await connectCluster(topology.seeds, topology.toServer, onLost)
      return toConnection(cluster, () => cluster.nodeKeys(probeKey))
    }
    const { address, destroy } = await watchMaster(topology.sentinels, topology.name, onLost)
    try {
      const onServerLost = (reason: unknown): void => onLost(nameServer(address, reason))
      const server = await connectServer(topology.toServer(address), onServerLost)
      const destroyBoth = (): void => {
        destroy()
        server.destroy()
      }
      return toConnection({ run: server.run, destroy: destroyBoth }, () => [probeKey])
    } catch (error) {
      destroy()
      throw nameServer(address, error)
    }
  }
}

// The largest configurable burst.
const maxUsed = 1_000_000

const toConnection = ({ run, destroy }: Pick<RedisServer, 'run' | 'destroy'>, probeKeys: () => readonly string[]) => {
  const consume = async (key: string, perMs: number, burst: number, options?: ScriptOptions): Promise<number> => {
    const reply = await run(consumeScript, { keys: [key], args: [String(perMs), String(burst)] }, options)
    const outcome = reply instanceof Buffer ? Number(reply.toString('latin1')) : Number.NaN
    const used = Math.abs(outcome)
    if (!(used > 0 && used <= maxUsed)) throw new Error('not an outcome')
    return outcome
  }
  return {
    /** Rejects when Redis replies with an error or the connection ends. */
    consume: (key: string, perMs: number, burst: number): Promise<number> => consume(key, perMs, burst),
    /** Texts are bytes. Rejects like `consume`, and when too few replicas have an `isReplicated` write. */
    run,
    /** All servers must accept writes. Rejects as `run` does. */
    async probe(): Promise<true> {
      await Promise.all(probeKeys().map((key) => consume(key, 1, 1000, { isReplicated: true })))
      return true
    },
    destroy,
  }
}
