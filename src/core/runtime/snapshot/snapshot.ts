import type { Group, OperationId } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import type { Handler } from '../../exchange/exchange.ts'
import type { ExchangeObserver } from '../../log/exchange-record.ts'
import type { Endpoint } from '../../upstream/endpoints/endpoint.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { ProcessTelemetry } from '../pipeline/observers.ts'
import type { SnapshotParts } from '../runtime-part.ts'

interface SnapshotMembers {
  readonly config: Config
  readonly parts: SnapshotParts
  readonly handlers: Readonly<Record<OperationId, Handler>>
  readonly upstreams: Readonly<Record<Group, Upstream>>
  /** The upstream of the other side. Null: the group has none. */
  readonly others: Readonly<Record<Group, Upstream | null>>
  readonly telemetry: ProcessTelemetry
  /** The observers of every exchange, in the order in which they are called. */
  readonly observers: readonly ExchangeObserver[]
}

/** One configuration as running objects: nine handlers and the upstreams they use. Never changed, only replaced. */
export interface Snapshot extends SnapshotMembers {
  /** Counts a request that begins with this snapshot, or outlives its client, and keeps the snapshot open for it. */
  acquire(): void
  release(): void
  /**
   * Releases the resources when no request uses the snapshot any more, however long that takes: a body has no total
   * time.
   */
  retire(): Promise<void>
}

/** Lists the upstreams that clients of a snapshot are on, of both sides. */
const listUpstreams = ({ upstreams, others }: SnapshotMembers): readonly Upstream[] => [
  ...Object.values(upstreams),
  ...Object.values(others).filter((other) => other !== null),
]

/** `releaseResources` releases what it was built on. */
export const createSnapshot = (members: SnapshotMembers, releaseResources: () => Promise<void>): Snapshot => {
  let inFlight = 0
  let onIdle = (): void => {}
  return {
    ...members,
    acquire() {
      inFlight++
    },
    release() {
      if (--inFlight === 0) onIdle()
    },
    async retire() {
      if (inFlight > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
      }
      await releaseResources()
    },
  }
}

/** The snapshot that new exchanges use. An exchange keeps the snapshot it began with. */
export class CurrentSnapshot {
  #current: Snapshot
  readonly #retiring = new Set<Promise<void>>()

  constructor(first: Snapshot) {
    this.#current = first
    activate(first)
  }

  get value(): Snapshot {
    return this.#current
  }

  get retiring(): number {
    return this.#retiring.size
  }

  /** Makes a snapshot current: the whole swap is one assignment. The previous snapshot is retired. */
  swap(next: Snapshot): void {
    const previous = this.#current
    this.#current = next
    activate(next)
    stopUnusedProbes(previous, next)
    this.#retire(previous)
  }

  /** Retires the current snapshot too, and resolves when all snapshots have released their resources. */
  async close(): Promise<void> {
    this.#retire(this.#current)
    this.#current.telemetry.runtime.monitorEventLoop(false)
    await Promise.all(this.#retiring)
  }

  #retire(snapshot: Snapshot): void {
    const retired = snapshot.retire().finally(() => this.#retiring.delete(retired))
    this.#retiring.add(retired)
  }
}

/**
 * Applies the bounds of what snapshots share, and the health checks of a configuration. Of two snapshots that share a
 * resource, the later decides.
 */
const activate = (snapshot: Snapshot): void => {
  const { config, parts, telemetry } = snapshot
  telemetry.runtime.monitorEventLoop(config.metrics !== null)
  for (const part of Object.values(parts)) part.activate?.()
  for (const upstream of listUpstreams(snapshot)) upstream.activate()
}

/** Stops the probes of endpoints that get no new requests any more. They finish what they have, for hours perhaps. */
const stopUnusedProbes = (previous: Snapshot, next: Snapshot): void => {
  const used = new Set(listEndpoints(next))
  for (const endpoint of listEndpoints(previous)) if (!used.has(endpoint)) endpoint.stopHealthCheck()
}

const listEndpoints = (snapshot: Snapshot): readonly Endpoint[] =>
  listUpstreams(snapshot).flatMap(({ members }) => members.map(({ endpoint }) => endpoint))
