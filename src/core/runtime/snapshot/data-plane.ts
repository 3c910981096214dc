import { CacheRegistry, type PurgeResult } from '../../../features/cache/cache-registry.ts'
import type { InvalidationTarget } from '../../../features/cache/invalidation.ts'
import { SharedCacheRegistry } from '../../../features/cache/redis/shared-cache-registry.ts'
import type { PurgeScope } from '../../../features/cache/store/cache-store.ts'
import { ContractValidatorsCache } from '../../../features/contract/contract-validators.ts'
import { openLearnedArchive } from '../../../features/contract-learning/learned-archive.ts'
import { IdempotencyRegistry } from '../../../features/idempotency/idempotency-registry.ts'
import type { IdempotencyCall } from '../../../features/idempotency/store/idempotency-store.ts'
import { settlesWithin } from '../../lib/clock.ts'
import { generateSecret } from '../../lib/secrets.ts'
import type { Log } from '../../log/log.ts'
import type { LogEvent } from '../../log/log-event.ts'
import {
  EndpointRegistry,
  type HealthVerdict,
  type OnHealthVerdict,
} from '../../upstream/endpoints/endpoint-registry.ts'
import {
  aloneProcess,
  type ChannelEnds,
  type FeatureMessage,
  listHandedOver,
  openChannel,
  type ProcessPlace,
  receiveAt,
} from '../channel.ts'
import { createProcessTelemetry } from '../pipeline/observers.ts'
import type { SnapshotInput } from '../runtime-part.ts'
import { openParts, prepareParts } from '../runtime-parts.ts'
import { buildSnapshot, type SharedResources } from './build-snapshot.ts'
import type { Snapshot } from './snapshot.ts'
import { CurrentSnapshot } from './snapshot.ts'

interface DataPlaneDeps {
  readonly logEvent: LogEvent
  /** Receives what the probes of this process find. Null: this process does not probe. */
  readonly onVerdict?: OnHealthVerdict
  readonly initialVerdicts?: readonly HealthVerdict[]
  /** What this process is among those of the gateway; by default it is alone. */
  readonly place?: ProcessPlace
  /** The log of access lines; by default none is written. */
  readonly log?: Log
  /** The key of digests, which all processes that learn and compare share; by default a new one. */
  readonly digestKey?: string
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
  readonly #learnedArchive: ReturnType<typeof openLearnedArchive>
  /** Of each feature that speaks with itself in other processes. */
  readonly #ends: ChannelEnds
  readonly currentSnapshot: CurrentSnapshot

  /** Throws as {@link buildSnapshot} does. */
  constructor(
    first: SnapshotInput,
    {
      logEvent,
      onVerdict,
      initialVerdicts = [],
      place = aloneProcess,
      log,
      digestKey = generateSecret(),
    }: DataPlaneDeps,
  ) {
    const telemetry = createProcessTelemetry(log ?? null, place.name)
    const guardReports = openChannel('candidate', place)
    telemetry.guards.onReports = (reports) => guardReports.notify(reports)
    const isPrimary = place.role === 'primary'
    const { role: kind } = place
    const keys = openChannel('idempotency', place)
    const invalidations = openChannel('cache', place)
    this.#shared = {
      endpoints: new EndpointRegistry(logEvent, onVerdict),
      caches: new CacheRegistry(
        logEvent,
        (targets) => invalidations.notify(targets),
        isPrimary ? null : new SharedCacheRegistry(logEvent),
      ),
      idempotency: new IdempotencyRegistry(
        kind === 'worker' ? { kind, askPrimary: (calls) => keys.ask(calls) } : { kind },
        logEvent,
      ),
      contractValidators: new ContractValidatorsCache(),
      digestKey,
      telemetry,
      parts: openParts({ place, ...telemetry, logEvent }),
    }
    for (const verdict of initialVerdicts) this.#shared.endpoints.applyVerdict(verdict)
    const { caches, idempotency } = this.#shared
    this.#learnedArchive = openLearnedArchive(place, openChannel('contract-learning', place), () => {
      const { config, learning } = this.currentSnapshot.value
      return learning && { learner: learning.learner, mark: `${config.hash} ${learning.orderedAt}` }
    })
    this.#ends = {
      ...this.#shared.parts,
      cache: {
        receive: (targets, from) => {
          if (isPrimary) invalidations.notify(targets, { except: from })
          else void caches.invalidate(targets as readonly InvalidationTarget[])
        },
      },
      'contract-learning': this.#learnedArchive,
      idempotency: { answer: (calls) => idempotency.replyAll(calls as readonly IdempotencyCall[]) },
    }
    this.currentSnapshot = new CurrentSnapshot(buildSnapshot(first, null, this.#shared))
  }

  /** The endpoints that probes find down. */
  get verdicts(): readonly HealthVerdict[] {
    return this.#shared.endpoints.verdicts
  }

  applyVerdict(verdict: HealthVerdict): void {
    this.#shared.endpoints.applyVerdict(verdict)
  }

  receive(message: FeatureMessage, from: string): void {
    receiveAt(this.#ends, message, from)
  }

  /** Resolves when what the primary has to get from this process is on its way. */
  async flushed(): Promise<void> {
    await Promise.all(Object.values(this.#shared.parts).map((part) => part.flushed?.()))
  }

  /** Answers what a worker asks. */
  answer({ feature, payload }: FeatureMessage): unknown {
    return this.#ends[feature]?.answer?.(payload)
  }

  onGone(worker: string): void {
    for (const end of Object.values(this.#ends)) end.onGone?.(worker)
  }

  handOver(): readonly FeatureMessage[] {
    return listHandedOver(this.#ends)
  }

  purge(scope: PurgeScope): Promise<PurgeResult> {
    return this.#shared.caches.purge(scope)
  }

  /** Builds the snapshot that may follow the current one: to be swapped in, or retired. */
  buildNext(state: SnapshotInput): Snapshot {
    return buildSnapshot(state, this.currentSnapshot.value, this.#shared)
  }

  /** Retires all snapshots, and cuts off what still runs after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    for (const copies of Object.values(this.#shared.telemetry.shadows)) copies.stop()
    this.#shared.telemetry.guards.close()
    this.#learnedArchive.close()
    for (const part of Object.values(this.#shared.parts)) part.close?.()
    const closed = this.currentSnapshot.close()
    if (await settlesWithin(deadlineMs, closed)) return
    this.#shared.idempotency.cutAbandoned() // some may have no endpoint, and wait for their next attempt
    await this.#shared.endpoints.destroy(new Error('shut down'))
    // Nothing runs any more, but spans may be on their way: those of what was cut, and of what ended before it.
    await settlesWithin(maxFlushMs, closed)
  }
}
