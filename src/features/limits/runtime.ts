import type { Config } from '../../core/config/config.ts'
import { frozenMemo } from '../../core/lib/memo.ts'
import { formatDuration, requestRates } from '../../core/lib/text/units.ts'
import type { RateLimit, RateLimiter } from '../../core/lib/token-bucket.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { ProcessPart, RuntimePart, SnapshotInput, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation } from '../../operations.ts'
import type { RedisState } from '../redis/managed-redis.ts'
import { RedisRegistry } from '../redis/redis-registry.ts'
import type { AddressLimitConfig, LimitsConfig } from './config.ts'
import {
  addressRateLimitLayer,
  clientConcurrencyLimitLayer,
  clientRateLimitLayer,
  concurrencyLimitLayer,
  createInFlightCounters,
} from './limits.ts'
import { loadSheddingLayer, measureLoopLag } from './load-shedding.ts'
import { createRateLimiters, type RateLimiterLease, type RateLimiters } from './rate-limiters.ts'

interface LimitsResources {
  readonly limiters: RateLimiters
  readonly counts: ReturnType<typeof createInFlightCounters>
  readonly loop: ReturnType<typeof measureLoopLag>
}

type LimitsProcess = LimitsResources & ProcessPart

interface LimitsPart extends SnapshotPart, LimitsResources {
  /** Null: nothing is counted in Redis or in memory. */
  state(): RedisState | null
}

declare module '../../core/runtime/runtime-part.ts' {
  interface ProcessParts {
    readonly limits: LimitsProcess
  }
  interface SnapshotParts {
    readonly limits: LimitsPart
  }
}

export const open = ({ place, channel, logEvent, parts: { redis } }: Parameters<RuntimePart['open']>[0]) => {
  const { role, workers: workerCount, primaryReplyMs: timeoutMs } = place
  const resources: LimitsResources = {
    limiters: createRateLimiters(
      role === 'worker'
        ? { kind: role, workerCount, timeoutMs, askPrimary: (limit, keys) => channel.ask([limit, keys]) }
        : { kind: role },
      redis.counts,
    ),
    counts: createInFlightCounters(),
    loop: measureLoopLag(logEvent),
  }
  const { limiters, loop } = resources
  return {
    ...resources,
    reply: (asked: unknown) => limiters.consumeAll(...(asked as Parameters<typeof limiters.consumeAll>)),
    acquire: ({ config }: SnapshotInput) => acquireLimits(config, resources, role !== 'primary'),
    close: () => loop.setLimit(null),
  }
}

export const describe: RuntimePart['describe'] = (config) => {
  const limiters = createRateLimiters({ kind: 'primary' }, new RedisRegistry(() => {}))
  return acquireLimits(config, { limiters, counts: createInFlightCounters(), loop: measureLoopLag() }, false)
}

const acquireLimits = (config: Config, resources: LimitsResources, serves: boolean): LimitsPart => {
  const { limiters, loop } = resources
  const { address, redis, eventLoopDelay } = config.limits
  const ofAddress = address && limiters.acquire({ policy: 'address', ...toBucket(address) }, redis)
  const ofClients = acquireClientLimits(config.clients, config.limits, limiters)
  return {
    ...resources,
    state: () => ofAddress?.state() ?? ofClients.state(),
    layers: (operation) => layerRows(operation, config, resources, ofAddress, ofClients),
    activate: () => serves && loop.setLimit(eventLoopDelay),
    release: () => {
      ofClients.release()
      ofAddress?.release()
    },
  }
}

const toBucket = ({ rate, burst }: AddressLimitConfig) => ({ perMs: rate.count / rate.perMs, burst })

const layerRows = (
  { id, group }: Operation,
  config: Config,
  { counts, loop }: LimitsResources,
  ofAddress: RateLimiterLease | null,
  ofClients: ClientLimits,
): readonly LayerRow[] => {
  const { limits, upstreams, operations } = config
  /** Null: no client has the limit, or the operation does not authenticate clients. */
  const limited = (clients: number): number | null => (operations[id].auth === null || clients === 0 ? null : clients)
  return [
    layerRow('load-shedding', 'limits.eventLoopDelay', limits.eventLoopDelay, formatDuration, () =>
      loadSheddingLayer(loop),
    ),
    layerRow('concurrency', 'limits.concurrency', limits.concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.all, 'limits-concurrency'),
    ),
    layerRow('upstream-concurrency', `upstreams.${group}.concurrency`, upstreams[group].concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.upstreams[group], 'upstream-concurrency'),
    ),
    layerRow('operation-concurrency', `operations.${id}.concurrency`, operations[id].concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.operations[id], 'operation-concurrency'),
    ),
    layerRow(
      'address-limit',
      'limits.address',
      limits.address,
      ({ rate, burst }) => `rate: ${requestRates.format(rate)}, burst: ${burst}`,
      ({ ipv6Prefix }) => ofAddress && addressRateLimitLayer(ofAddress.limiter, ipv6Prefix),
    ),
    layerRow(
      'client-concurrency',
      'clients.concurrency',
      limited(ofClients.concurrencyLimitedCount),
      formatClientCount,
      () => clientConcurrencyLimitLayer(ofClients.getConcurrencyLimit, counts.clients),
    ),
    layerRow('client-limit', 'clients.rate', limited(ofClients.rateLimitedCount), formatClientCount, () =>
      clientRateLimitLayer(ofClients.getRateLimiter),
    ),
  ]
}

const formatClientCount = (clients: number): string => (clients === 1 ? 'of 1 client' : `of ${clients} clients`)

type ClientLimits = ReturnType<typeof acquireClientLimits>

/** One limiter, by client id, for all clients of the same rate and burst. */
export const acquireClientLimits = (clients: Config['clients'], { redis }: LimitsConfig, limiters: RateLimiters) => {
  const { limits, limitIndexes, concurrencyLimits } = parseClientLimits(clients)
  const leases = limits.map((limit) => limiters.acquire(limit, redis))
  return {
    rateLimitedCount: limitIndexes.size,
    concurrencyLimitedCount: concurrencyLimits.size,
    getRateLimiter(client: string): RateLimiter | undefined {
      const index = limitIndexes.get(client)
      return index === undefined ? undefined : leases[index]?.limiter
    },
    /** In this process; null: no limit. */
    getConcurrencyLimit(client: string): number | null {
      const max = concurrencyLimits.get(client)
      return max === undefined ? null : limiters.localShare(max)
    },
    state: (): RedisState | null => leases[0]?.state() ?? null, // all share one Redis, or none
    release(): void {
      for (const each of leases) each.release()
    },
  }
}

// Most reloads leave the clients, possibly thousands, unchanged.
const parseClientLimits = frozenMemo((clients: Config['clients']) => {
  const indexes = new Map<string, number>()
  const limits: RateLimit[] = []
  const limitIndexes = new Map<string, number>()
  const concurrencyLimits = new Map<string, number>()
  for (const { id, rate, burst, concurrency } of clients) {
    if (concurrency !== null) concurrencyLimits.set(id, concurrency)
    if (rate === null) continue
    const limit: RateLimit = { policy: 'client', perMs: rate.count / rate.perMs, burst: burst ?? rate.count }
    const name = `${limit.perMs} ${limit.burst}`
    const index = indexes.get(name) ?? limits.push(limit) - 1
    indexes.set(name, index)
    limitIndexes.set(id, index)
  }
  return { limits, limitIndexes, concurrencyLimits }
})
