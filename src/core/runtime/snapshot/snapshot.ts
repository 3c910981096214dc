import { byGroup, type Group, type OperationId } from '../../../operations.ts'
import type { Config, UpstreamConfig } from '../../config/config.ts'
import type { Handler } from '../../exchange/exchange.ts'
import type { ExchangeObserver } from '../../log/exchange-record.ts'
import type { Endpoint } from '../../upstream/endpoints/endpoint.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { ProcessTelemetry } from '../pipeline/observers.ts'
import { receivesTraffic, shareEndpoint } from '../reload/new-endpoints.ts'
import type { SnapshotParts } from '../runtime-part.ts'

interface SnapshotMembers {
  readonly config: Config
  readonly parts: SnapshotParts
  readonly handlers: Readonly<Record<OperationId, Handler>>
  readonly upstreams: Readonly<Record<Group, Upstream>>
  readonly others: Readonly<Record<Group, Upstream | null>>
  readonly telemetry: ProcessTelemetry
  readonly observers: readonly ExchangeObserver[]
}

/** Nine handlers and their upstreams. Immutable; a reload replaces it. */
export type Snapshot = ReturnType<typeof createSnapshot>

const listUpstreams = ({ upstreams, others }: SnapshotMembers): readonly Upstream[] => [
  ...Object.values(upstreams),
  ...Object.values(others).filter((other) => other !== null),
]

export const createSnapshot = (members: SnapshotMembers, releaseResources: () => Promise<void>) => {
  let inFlight = 0
  let onIdle = (): void => {}
  return {
    ...members,
    /** Also counts a request that outlives its client. The snapshot stays open until `release`. */
    acquire(): void {
      inFlight++
    },
    release(): void {
      if (--inFlight === 0) onIdle()
    },
    /** May take hours, because a body has no total time limit. */
    async retire(): Promise<void> {
      if (inFlight > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
      }
      await releaseResources()
    },
  }
}

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

  swap(next: Snapshot): void {
    const previous = this.#current
    this.#current = next
    activate(next)
    stopUnusedProbes(previous, next)
    this.#retire(previous)
  }

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

const activate = (snapshot: Snapshot): void => {
  const { config, parts, telemetry } = snapshot
  telemetry.runtime.monitorEventLoop(config.metrics !== null)
  for (const part of Object.values(parts)) part.activate?.()
  for (const upstream of listUpstreams(snapshot)) upstream.activate()
}

const stopUnusedProbes = (previous: Snapshot, next: Snapshot): void => {
  const used = new Set(listEndpoints(next))
  for (const endpoint of listEndpoints(previous)) if (!used.has(endpoint)) endpoint.stopHealthCheck()
}

const listEndpoints = (snapshot: Snapshot): readonly Endpoint[] =>
  listUpstreams(snapshot).flatMap(({ members }) => members.map(({ endpoint }) => endpoint))

/** A closure in `buildSnapshot` that sees `previous` would keep each predecessor in memory. */
export const carryBreakers = (
  config: Config,
  previous: Snapshot | null,
): Readonly<Record<Group, Upstream['breaker']>> =>
  byGroup((group) =>
    carryBreaker(config.upstreams[group], previous?.config.upstreams[group], previous?.upstreams[group]),
  )

/**
 * An open breaker stays open over an edit of other settings, unless no endpoint that received traffic still receives
 * it: the operator has then routed around the outage.
 */
export const carryBreaker = (
  next: UpstreamConfig | undefined,
  before: UpstreamConfig | undefined,
  running: Upstream | null | undefined,
): Upstream['breaker'] => {
  if (next === undefined || before === undefined || running == null) return null
  const same = JSON.stringify(before.circuitBreaker) === JSON.stringify(next.circuitBreaker)
  const [used, usedBefore] = [next.endpoints.filter(receivesTraffic), before.endpoints.filter(receivesTraffic)]
  return same && shareEndpoint(used, usedBefore) ? running.breaker : null
}
