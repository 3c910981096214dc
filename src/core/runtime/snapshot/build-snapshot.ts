import { byGroup, byOperation } from '../../../operations.ts'
import type { Endpoint } from '../../upstream/endpoints/endpoint.ts'
import { type EndpointRegistry, isSide } from '../../upstream/endpoints/endpoint-registry.ts'
import { openUpstream } from '../../upstream/upstream.ts'
import { findDrain, toEndpointKey } from '../overrides.ts'
import { composeLayers } from '../pipeline/compose-layers.ts'
import { listObservers, type ProcessTelemetry } from '../pipeline/observers.ts'
import type { ProcessParts, SnapshotContext, SnapshotInput, SnapshotPart } from '../runtime-part.ts'
import { acquireParts, firstOf } from '../runtime-parts.ts'
import { carryBreakers } from './carry-over.ts'
import { createSnapshot, type Snapshot } from './snapshot.ts'

/** What all snapshots of a process share, one after the other. */
export interface SharedResources {
  readonly endpoints: EndpointRegistry
  readonly telemetry: ProcessTelemetry
  readonly parts: ProcessParts
}

/**
 * Builds a whole snapshot on the resources that are open already, and on new ones. When it throws, it has released
 * everything that it acquired. What was learnt for `previous`, the snapshot that runs, goes on where the settings that
 * shape it are the same.
 */
export const buildSnapshot = (input: SnapshotInput, previous: Snapshot | null, shared: SharedResources): Snapshot => {
  const { config, overrides } = input
  const { endpoints, telemetry, parts: opened } = shared
  const breakers = carryBreakers(config, previous)
  const acquired: Endpoint[] = []
  const acquiredParts: Record<string, SnapshotPart> = {}
  const release = async (): Promise<void> => {
    const released = Object.values(acquiredParts).map((part) => part.release?.())
    await Promise.all([...acquired.map((endpoint) => endpoints.release(endpoint)), ...released])
  }
  try {
    const open = upstreamOpener(input, shared, acquired)
    const upstreams = byGroup((group) => open(group, 'primary', config.upstreams[group], breakers[group]))
    const parts = acquireParts(opened, input, previous?.parts ?? null, { upstreams, openUpstream: open }, acquiredParts)
    const features = Object.values(parts)
    const handlers = byOperation((operation) => {
      const { id, group } = operation
      const send = firstOf(parts, (part) => part.send?.(group)) ?? upstreams[group].send
      const options = { operation, config, features, requestMetrics: telemetry.requestMetrics }
      return composeLayers(options, send, overrides.operations.get(id))
    })
    const others = byGroup((group) => firstOf(parts, (part) => part.others?.[group]))
    const observers = listObservers(config, telemetry, features)
    return createSnapshot({ config, parts, handlers, upstreams, others, telemetry, observers }, release)
  } catch (error) {
    void release()
    throw error
  }
}

/** Returns the function that opens the upstreams of a snapshot, and adds each endpoint of them to `acquired`. */
const upstreamOpener =
  (
    { config, overrides, sandboxOrigin }: SnapshotInput,
    { endpoints, telemetry, parts }: SharedResources,
    acquired: Endpoint[],
  ): SnapshotContext['openUpstream'] =>
  (group, use, upstream, breaker) => {
    const { response } = upstream
    const ownField = firstOf(parts, (part) => part.ownResponseField?.(config, group))
    const settings =
      ownField === null ? upstream : { ...upstream, response: { ...response, remove: [...response.remove, ownField] } }
    return openUpstream(settings, {
      open: (endpoint) => {
        const opened = endpoints.acquire(group, use, endpoint, upstream, sandboxOrigin ?? '')
        acquired.push(opened)
        return opened
      },
      use: (endpoint) => endpoints.use(endpoint),
      drainedBy: ({ origin, pathPrefix, drain }) =>
        findDrain(overrides.endpoints, toEndpointKey(group, origin + pathPrefix), drain),
      breaker,
      logEvent: endpoints.logFor(group, use),
      onFailure:
        config.metrics === null || !isSide(use)
          ? () => {}
          : (attempt, { operation }) =>
              telemetry.requestMetrics.operations[operation.id].countFailedAttempt(attempt, use),
    })
  }
