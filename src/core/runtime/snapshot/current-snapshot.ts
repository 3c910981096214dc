import { groups } from '../../../operations.ts'
import type { Endpoint } from '../../upstream/endpoints/endpoint.ts'
import { listUpstreams, type Snapshot } from './snapshot.ts'

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
 * Applies the cache size, the bounds of keys and copies, and the health checks of a configuration. Of two snapshots
 * that share a resource, the later decides.
 */
const activate = (snapshot: Snapshot): void => {
  const { config, shadows, caches, idempotency, telemetry } = snapshot
  telemetry.runtime.monitorEventLoop(config.metrics !== null)
  caches.activate()
  idempotency?.activate()
  for (const group of groups)
    telemetry.shadows[group].bounds = shadows[group] && (config.upstreams[group].candidate?.shadow ?? null)
  for (const upstream of listUpstreams(snapshot)) upstream.activate()
}

/** Stops the probes of endpoints that get no new requests any more. They finish what they have, for hours perhaps. */
const stopUnusedProbes = (previous: Snapshot, next: Snapshot): void => {
  const used = new Set(listEndpoints(next))
  for (const endpoint of listEndpoints(previous)) if (!used.has(endpoint)) endpoint.stopHealthCheck()
}

const listEndpoints = (snapshot: Snapshot): readonly Endpoint[] =>
  listUpstreams(snapshot).flatMap(({ members }) => members.map(({ endpoint }) => endpoint))
