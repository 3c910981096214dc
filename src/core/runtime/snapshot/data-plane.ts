import { settlesWithin } from '../../lib/clock.ts'
import { generateSecret } from '../../lib/secrets.ts'
import type { Log, LogEvent } from '../../log/log.ts'
import {
  EndpointRegistry,
  type HealthVerdict,
  type OnHealthVerdict,
} from '../../upstream/endpoints/endpoint-registry.ts'
import { aloneProcess, type FeatureMessage, listHandedOver, type ProcessPlace, receiveAt } from '../channel.ts'
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
  await settleParts(dataPlane.currentSnapshot.value)
  return dataPlane
}

// To connect takes milliseconds. A Redis that is silent holds up neither a start nor an edit for longer.
const maxSettleMs = 1000

// An exporter sends what waits within a second, or loses it.
const maxFlushMs = 1250

/** Waits for what a snapshot needs to serve: its first requests are not to be rejected for want of it. */
export const settleParts = async ({ parts }: Pick<Snapshot, 'parts'>): Promise<void> => {
  const settled = Object.values(parts).flatMap((part) => part.settled ?? [])
  if (settled.length > 0) await settlesWithin(maxSettleMs, Promise.all(settled))
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
      place = aloneProcess,
      log,
      digestKey = generateSecret(),
    }: DataPlaneDeps,
  ) {
    const telemetry = createProcessTelemetry(log ?? null, place.name)
    this.#shared = {
      endpoints: new EndpointRegistry(logEvent, onVerdict),
      telemetry,
      parts: openParts({ place, ...telemetry, digestKey, logEvent }),
    }
    for (const verdict of initialVerdicts) this.#shared.endpoints.applyVerdict(verdict)
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
    receiveAt(this.#shared.parts, message, from)
  }

  /** Resolves when what the primary has to get from this process is on its way. */
  async flushed(): Promise<void> {
    await Promise.all(Object.values(this.#shared.parts).map((part) => part.flushed?.()))
  }

  /** Answers what a worker asks. */
  answer({ feature, payload }: FeatureMessage): unknown {
    return this.#shared.parts[feature]?.answer?.(payload)
  }

  onGone(worker: string): void {
    for (const end of Object.values(this.#shared.parts)) end.onGone?.(worker)
  }

  handOver(): readonly FeatureMessage[] {
    return listHandedOver(this.#shared.parts)
  }

  /** Builds the snapshot that may follow the current one: to be swapped in, or retired. */
  buildNext(state: SnapshotInput): Snapshot {
    return buildSnapshot(state, this.currentSnapshot.value, this.#shared)
  }

  /** Retires all snapshots, and cuts off what still runs after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    for (const part of Object.values(this.#shared.parts)) part.close?.()
    const closed = this.currentSnapshot.close()
    if (await settlesWithin(deadlineMs, closed)) return
    // Some may have no endpoint, and wait for their next attempt.
    for (const part of Object.values(this.#shared.parts)) part.cut?.()
    await this.#shared.endpoints.destroy(new Error('shut down'))
    // Nothing runs any more, but spans may be on their way: those of what was cut, and of what ended before it.
    await settlesWithin(maxFlushMs, closed)
  }
}
