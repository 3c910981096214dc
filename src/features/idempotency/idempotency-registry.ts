import type { Config } from '../../core/config/config.ts'
import { authenticates, partitionFields } from '../../core/config/config-facts.ts'
import { epochMs, unrefTimeout } from '../../core/lib/clock.ts'
import { FairQuota, usualBodyBytes } from '../../core/lib/fair-quota.ts'
import type { LogEvent } from '../../core/log/log.ts'
import { type BatchCall, batchCalls, type SharingRole } from '../redis/batched-calls.ts'
import type { RedisConfig } from '../redis/config.ts'
import { calmChanges, RedisRegistry } from '../redis/redis-registry.ts'
import { describeKeyspace, isSameKeyspace, withReplicas } from '../redis/redis-settings.ts'
import { AbandonedAttempts } from './claimed-attempt.ts'
import type { IdempotencyConfig } from './config.ts'
import type { IdempotencyReport } from './status.ts'
import type {
  CallOf,
  IdempotencyCall,
  IdempotencyReplies,
  IdempotencyReply,
  IdempotencyStore,
} from './store/idempotency-store.ts'
import { MemoryIdempotencyStore } from './store/memory-idempotency-store.ts'
import { RedisIdempotencyStore } from './store/redis-idempotency-store.ts'
import { createResponseSealer } from './store/response-sealer.ts'

type IdempotencyState = Omit<IdempotencyReport, 'where'>

export type IdempotencyLease = NonNullable<ReturnType<ReturnType<typeof createIdempotencyRegistry>['acquire']>>

// Between two checks whether a released store has open claims.
const releasePauseMs = 1000

// Counting keys in Redis would take a scan.
const nothingTold = {
  ...{ entries: null, maxEntries: null, bytes: null, maxBytes: null },
  ...{ inProgress: null, unknown: null, oldestUnknown: null, dropped: 0 },
} as const

/** Outlives reloads: otherwise a request could be processed twice because of an edit. */
export const createIdempotencyRegistry = (role: SharingRole<IdempotencyCall, IdempotencyReply>, logEvent: LogEvent) => {
  const since = epochMs()
  const ownStore: IdempotencyStore =
    role.kind === 'worker'
      ? remoteIdempotencyStore(role.askPrimary)
      : new MemoryIdempotencyStore({ maxEntries: 0, maxBytes: 0 })
  const memory = ownStore instanceof MemoryIdempotencyStore ? ownStore : null
  const rooms = { requests: new FairQuota(usualBodyBytes), responses: new FairQuota(usualBodyBytes) }
  const abandoned = new AbandonedAttempts()
  /** For all stores, because each configuration opens its own. */
  const redisCounts = { rejected: 0 }
  const links = new RedisRegistry(
    calmChanges(logEvent, 'idempotency store is available', 'idempotency store is unavailable'),
  )
  /** The Redis of the last configuration. Null: it had memory alone. Undefined: no configuration yet. */
  let lastRedis: RedisConfig | null | undefined
  /** By operation: what identifies a key's owner. */
  const owners = new Map<string, string>()

  /** After such an edit every key is new: its record stays in the old store. */
  const logStoreChange = (to: RedisConfig | null): void => {
    const from = lastRedis
    lastRedis = to
    if (from === undefined || from === to || (from !== null && to !== null && isSameKeyspace(from, to))) return
    logEvent('warn', 'idempotency store changed', { from: describeStore(from), to: describeStore(to) })
  }

  /** After such an edit a client's key has another digest, so it is new. */
  const logOwnerChange = (config: Config): void => {
    const changed: string[] = []
    for (const [id, operation] of Object.entries(config.operations)) {
      if (operation.idempotency === null) continue
      const owner = authenticates(operation) ? 'id' : `fields ${partitionFields(config).toSorted()}`
      if ((owners.get(id) ?? owner) !== owner) changed.push(id)
      owners.set(id, owner)
    }
    if (changed.length > 0) logEvent('warn', 'idempotency owners changed', { operations: changed })
  }

  /** Null: another process has the records, or workers use Redis. */
  const memoryState = ({ redis, maxEntries, maxBytes }: IdempotencyConfig): IdempotencyState | null =>
    memory === null || redis !== null
      ? null
      : { store: 'memory', state: 'local', since, reason: null, maxEntries, maxBytes, ...memory.state() }

  return {
    /** Null: no operation has idempotency. */
    acquire(config: Config) {
      const { idempotency, operations } = config
      if (Object.values(operations).every((operation) => operation.idempotency === null)) return null
      // The primary of several workers serves no client.
      const shared = role.kind === 'primary' ? null : openRedisStore(idempotency, links, redisCounts, logEvent)
      return {
        store: shared?.store ?? ownStore,
        rooms,
        abandoned,
        /** Resolves when the store's availability is known. */
        settled: shared?.settled ?? Promise.resolve(),
        /** Null: another process has the records. */
        state: () => (shared === null ? memoryState(idempotency) : shared.state()),
        activate: () => {
          if (memory !== null) memory.bounds = idempotency
          if (role.kind === 'worker') return
          logStoreChange(idempotency.redis)
          logOwnerChange(config)
        },
        release: () => shared?.release(),
      }
    },
    cutAbandoned: () => abandoned.cut(),
    /** Null: this process has no records. */
    replyAll: (calls: readonly IdempotencyCall[]): readonly IdempotencyReply[] | null =>
      memory && calls.map((call) => memory.reply(call)),
  }
}

/** Null: no Redis is configured. Stays open until every claim is settled. */
const openRedisStore = (
  { redis, replicas, encryptionKeys }: IdempotencyConfig,
  registry: RedisRegistry,
  counts: { rejected: number },
  logEvent: LogEvent,
) => {
  if (redis === null) return null
  const { link, replicated, release } = registry.acquire(withReplicas(redis, replicas), 'records')
  const links = replicated === null ? [link] : [link, replicated]
  const sealer = createResponseSealer(encryptionKeys.map((key) => Buffer.from(key, 'base64')))
  const store = new RedisIdempotencyStore({ link, replicated, prefix: redis.prefix, sealer, counts, logEvent })
  const releaseWhenIdle = (): void => {
    if (store.isIdle()) release()
    else unrefTimeout(releasePauseMs, releaseWhenIdle)
  }
  const state = (): IdempotencyState => {
    const failing = links.find((each) => !each.isShared) ?? null
    const since = failing?.since ?? Math.max(...links.map((each) => each.since))
    const state = failing === null ? 'shared' : 'unavailable'
    const reason = failing?.reason ?? null
    return { store: 'redis', state, since, reason, rejected: counts.rejected, ...nothingTold }
  }
  const settled = Promise.all(links.map((each) => each.settled)).then(() => {})
  return { store, state, settled, release: releaseWhenIdle }
}

const describeStore = (redis: RedisConfig | null): string => (redis === null ? 'memory' : describeKeyspace(redis))

// A worker without the primary's reply has no fallback.
const replyTimeoutMs = 1000

export const remoteIdempotencyStore = (callAll: BatchCall<IdempotencyCall, IdempotencyReply>): IdempotencyStore => {
  const call = batchCalls(callAll, replyTimeoutMs)
  return {
    call: <Type extends IdempotencyCall['type']>(query: CallOf<Type>) =>
      call(query) as Promise<IdempotencyReplies[Type] | null>,
  }
}
