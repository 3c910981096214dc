import { type AuditSink, nullAuditSink } from '../../../features/audit/audit-sink.ts'
import { type KeysHandover, TokenVerifiers } from '../../../features/auth/tokens/token-verifiers.ts'
import { CacheRegistry, type PurgeResult } from '../../../features/cache/cache-registry.ts'
import type { InvalidationTarget } from '../../../features/cache/invalidation.ts'
import { SharedCacheRegistry } from '../../../features/cache/redis/shared-cache-registry.ts'
import type { PurgeScope } from '../../../features/cache/store/cache-store.ts'
import type { GuardReport } from '../../../features/candidate/observe/guard/guard-counts.ts'
import { ContractValidatorsCache } from '../../../features/contract/contract-validators.ts'
import { IdempotencyRegistry } from '../../../features/idempotency/idempotency-registry.ts'
import type { IdempotencyCall, IdempotencyReply } from '../../../features/idempotency/store/idempotency-store.ts'
import { type LimiterRole, RateLimiterRegistry } from '../../../features/limits/rate-limiter/rate-limiter-registry.ts'
import { calmChanges } from '../../../features/redis/calm-changes.ts'
import { settlesWithin } from '../../lib/clock.ts'
import { generateSecret } from '../../lib/secrets.ts'
import type { ConsumeResult } from '../../lib/token-bucket.ts'
import type { Log } from '../../log/log.ts'
import type { LogEvent } from '../../log/log-event.ts'
import {
  EndpointRegistry,
  type HealthVerdict,
  type OnHealthVerdict,
} from '../../upstream/endpoints/endpoint-registry.ts'
import { createProcessTelemetry } from '../pipeline/observers.ts'
import { prepareParts, runtimeParts } from '../runtime-parts.ts'
import { buildSnapshot, type SharedResources, type SnapshotInput } from './build-snapshot.ts'
import type { Snapshot } from './snapshot.ts'
import { CurrentSnapshot } from './snapshot.ts'

interface DataPlaneDeps {
  readonly logEvent: LogEvent
  /** Receives what the probes of this process find. Null: this process does not probe. */
  readonly onVerdict?: OnHealthVerdict
  readonly initialVerdicts?: readonly HealthVerdict[]
  readonly initialKeys?: readonly KeysHandover[]
  readonly onKeysFetched?: (keys: KeysHandover) => void
  /** The role of this process where several count together; by default it is alone. */
  readonly limiterRole?: LimiterRole
  /** The name of the process; by default `gateway`. */
  readonly processName?: string
  /** The log of access lines; by default none is written. */
  readonly log?: Log
  /** The destination of audit lines; by default they are dropped. */
  readonly auditSink?: AuditSink
  /** The key of digests, which all processes that learn and compare share; by default a new one. */
  readonly digestKey?: string
  /** Called with what has become invalid here, and may be stored in other processes. */
  readonly onInvalidated?: (targets: readonly InvalidationTarget[]) => void
  readonly onGuardReports?: (reports: readonly GuardReport[]) => void
}

/** Rejects as {@link buildSnapshot} throws. */
export const createDataPlane = async (first: SnapshotInput, deps: DataPlaneDeps): Promise<DataPlane> => {
  await prepareParts(first.config)
  const dataPlane = new DataPlane(first, deps)
  await settleStores(dataPlane.currentSnapshot.value)
  return dataPlane
}

// To connect takes milliseconds. A Redis that is silent holds up neither a start nor an edit for longer.
const maxSettleMs = 1000

// An exporter sends what waits within a second, or loses it.
const maxFlushMs = 1250

/** Waits for the store of keys, before a snapshot serves: its first requests with a key are not to be rejected. */
export const settleStores = async ({ idempotency }: Pick<Snapshot, 'idempotency'>): Promise<void> => {
  if (idempotency !== null) await settlesWithin(maxSettleMs, idempotency.settled)
}

/** The data plane of one process: the current snapshot, and the resources that snapshots share. */
export class DataPlane {
  readonly #shared: SharedResources
  readonly currentSnapshot: CurrentSnapshot

  /** Throws as {@link buildSnapshot} does. */
  constructor(
    first: SnapshotInput,
    {
      logEvent,
      onVerdict,
      initialVerdicts = [],
      initialKeys = [],
      onKeysFetched,
      processName = 'gateway',
      limiterRole = { kind: 'alone' },
      log,
      auditSink = nullAuditSink,
      digestKey = generateSecret(),
      onInvalidated,
      onGuardReports = () => {},
    }: DataPlaneDeps,
  ) {
    const telemetry = createProcessTelemetry(log ?? null, processName)
    telemetry.guards.onReports = onGuardReports
    this.#shared = {
      endpoints: new EndpointRegistry(logEvent, onVerdict),
      limiters: new RateLimiterRegistry(
        limiterRole,
        calmChanges(logEvent, 'limits are shared', 'limits are not shared'),
      ),
      tokenVerifiers: new TokenVerifiers(logEvent, onKeysFetched),
      caches: new CacheRegistry(
        logEvent,
        onInvalidated,
        limiterRole.kind === 'primary' ? null : new SharedCacheRegistry(logEvent),
      ),
      idempotency: new IdempotencyRegistry(limiterRole, logEvent),
      contractValidators: new ContractValidatorsCache(),
      digestKey,
      auditSink,
      telemetry,
      features: limiterRole.kind === 'primary' ? [] : runtimeParts.map((part) => part.open({ ...telemetry, logEvent })),
      logEvent,
    }
    for (const verdict of initialVerdicts) this.#shared.endpoints.applyVerdict(verdict)
    this.currentSnapshot = new CurrentSnapshot(buildSnapshot(first, null, this.#shared))
    for (const keys of initialKeys) this.adoptKeys(keys)
  }

  /** The endpoints that probes find down. */
  get verdicts(): readonly HealthVerdict[] {
    return this.#shared.endpoints.verdicts
  }

  applyVerdict(verdict: HealthVerdict): void {
    this.#shared.endpoints.applyVerdict(verdict)
  }

  get keysToHandOver(): readonly KeysHandover[] {
    return this.#shared.tokenVerifiers.keysToHandOver
  }

  adoptKeys(keys: KeysHandover): void {
    this.#shared.tokenVerifiers.adoptKeys(keys)
  }

  /** Consumes one token of a limit for each key, for another process. Null: that limit is not known here. */
  consumeAll(limit: string, keys: readonly string[]): readonly ConsumeResult[] | null {
    return this.#shared.limiters.consumeAll(limit, keys)
  }

  /** Remembers for another process what keys led to. Null: this process does not. */
  replyAll(calls: readonly IdempotencyCall[]): readonly IdempotencyReply[] | null {
    return this.#shared.idempotency.replyAll(calls)
  }

  purge(scope: PurgeScope): Promise<PurgeResult> {
    return this.#shared.caches.purge(scope)
  }

  /** Removes what has become invalid in another process. */
  invalidate(targets: readonly InvalidationTarget[]): void {
    void this.#shared.caches.invalidate(targets)
  }

  /** Builds the snapshot that may follow the current one: to be swapped in, or retired. */
  buildNext(state: SnapshotInput): Snapshot {
    return buildSnapshot(state, this.currentSnapshot.value, this.#shared)
  }

  /** Retires all snapshots, and cuts off what still runs after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    for (const copies of Object.values(this.#shared.telemetry.shadows)) copies.stop()
    this.#shared.telemetry.guards.close()
    const closed = this.currentSnapshot.close()
    if (await settlesWithin(deadlineMs, closed)) return
    this.#shared.idempotency.cutAbandoned() // some may have no endpoint, and wait for their next attempt
    await this.#shared.endpoints.destroy(new Error('shut down'))
    // Nothing runs any more, but spans may be on their way: those of what was cut, and of what ended before it.
    await settlesWithin(maxFlushMs, closed)
  }
}
