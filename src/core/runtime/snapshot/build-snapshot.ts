import {
  createGuardOptions,
  createRetryAllowance,
  createSend,
  withoutExposedField,
} from '../../../features/candidate/candidate-layers.ts'
import type { GuardOptions } from '../../../features/candidate/layers/guard.ts'
import { openShadow } from '../../../features/candidate/open-shadow.ts'
import { type CandidateUse, findCandidateUse } from '../../../features/candidate/shift/candidate-use.ts'
import { guardEra } from '../../../features/candidate/shift/shift-state.ts'
import { byGroup, byOperation, type Group, groups } from '../../../operations.ts'
import type { Config, UpstreamConfig } from '../../config/config.ts'
import type { OnFailedAttempt } from '../../upstream/attempt/attempt-outcome.ts'
import type { Endpoint } from '../../upstream/endpoints/endpoint.ts'
import { type EndpointRegistry, type EndpointUse, isSide } from '../../upstream/endpoints/endpoint-registry.ts'
import type { CircuitBreaker } from '../../upstream/health/circuit-breaker.ts'
import { openUpstream, type Upstream } from '../../upstream/upstream.ts'
import { findDrain, type OverridesView, toEndpointKey } from '../overrides.ts'
import { composeLayers } from '../pipeline/compose-layers.ts'
import { listObservers, type ProcessTelemetry } from '../pipeline/observers.ts'
import type { ProcessParts, SnapshotInput } from '../runtime-part.ts'
import { acquireParts } from '../runtime-parts.ts'
import { carryOver } from './carry-over.ts'
import { createSnapshot, type Snapshot } from './snapshot.ts'

/** What all snapshots of a process share, one after the other. */
export interface SharedResources {
  readonly endpoints: EndpointRegistry
  /** What names that are learnt and values that are compared are hashed with. */
  readonly digestKey: string
  readonly telemetry: ProcessTelemetry
  readonly parts: ProcessParts
}

/**
 * Builds a whole snapshot on the resources that are open already, and on new ones. When it throws, it has released
 * everything that it acquired. What was learnt for `previous`, the snapshot that runs, goes on where the settings that
 * shape it are the same.
 */
export const buildSnapshot = (
  input: SnapshotInput,
  previous: Snapshot | null,
  { endpoints, digestKey, telemetry, parts: processParts }: SharedResources,
): Snapshot => {
  const { config, overrides, sandboxOrigin } = input
  const { breakers, retryBudgets, comparisons } = carryOver(config, previous, digestKey)
  const acquired: Endpoint[] = []
  const parts = acquireParts(processParts, input, previous?.parts ?? null)
  const candidateUses = byGroup((group) =>
    findCandidateUse(config.upstreams[group].candidate, overrides.shifts?.get(group)),
  )
  const release = async (): Promise<void> => {
    await Promise.all([
      ...acquired.map((endpoint) => endpoints.release(endpoint)),
      ...Object.values(parts).map((part) => part.release?.()),
    ])
  }
  try {
    const open = (
      group: Group,
      use: EndpointUse,
      upstream: UpstreamConfig,
      breaker: CircuitBreaker | null,
    ): Upstream => {
      const onFailure: OnFailedAttempt =
        config.metrics === null || !isSide(use)
          ? () => {}
          : (attempt, { operation }) =>
              telemetry.requestMetrics.operations[operation.id].countFailedAttempt(attempt, use)
      return openUpstream(withoutExposedField(upstream, config.upstreams[group].candidate), {
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
        onFailure,
      })
    }
    const upstreams = byGroup((group) => open(group, 'primary', config.upstreams[group], breakers.primary[group]))
    const candidates = byGroup((group) => {
      const { candidate } = config.upstreams[group]
      return candidate && open(group, 'candidate', candidate.upstream, breakers.candidate[group])
    })
    const shadows = byGroup((group) => {
      const { candidate } = config.upstreams[group]
      const running = candidates[group]
      if (candidate === null || running === null || overrides.shifts?.get(group)?.isStopped === true) return null
      return openShadow(candidate, {
        sides: { primary: upstreams[group], candidate: running },
        primary: config.upstreams[group],
        open: (use, upstream) => open(group, use, upstream, null),
        copies: telemetry.shadows[group],
        comparison: comparisons[group],
      })
    })
    const guards = openGuards(config, candidateUses, candidates, overrides, telemetry)
    const handlers = byOperation((operation) => {
      const { id, group } = operation
      const candidateUse = candidateUses[group]
      const options = {
        operation,
        config,
        retryBudget: createRetryAllowance(retryBudgets[group], upstreams[group], candidates[group]),
        features: Object.values(parts),
        requestMetrics: telemetry.requestMetrics,
        candidateUse,
        guard: guards.get(group) ?? null,
        shadow: shadows[group],
      }
      const { candidate } = config.upstreams[group]
      const send = createSend(upstreams[group], candidates[group], candidate, candidateUse)
      return composeLayers(options, send, overrides.operations.get(id))
    })
    const observers = listObservers(config, telemetry, Object.values(parts))
    return createSnapshot(
      {
        config,
        parts,
        handlers,
        upstreams,
        candidates,
        shadows,
        retryBudgets,
        comparisons,
        telemetry,
        observers,
      },
      release,
    )
  } catch (error) {
    void release()
    throw error
  }
}

/**
 * Opens what the guards of the groups count with whose candidate has clients. Where operators drain all of a candidate,
 * its clients fall back, and that is no fault of it.
 */
const openGuards = (
  config: Config,
  candidateUses: Readonly<Record<Group, CandidateUse | null>>,
  candidates: Snapshot['candidates'],
  { shifts }: Pick<OverridesView, 'shifts'>,
  { guards }: ProcessTelemetry,
): ReadonlyMap<Group, GuardOptions> =>
  new Map(
    groups.flatMap((group) => {
      const members = candidates[group]?.members ?? []
      const isGuarded =
        candidateUses[group] !== null &&
        config.upstreams[group].candidate?.guard != null &&
        members.some(({ receivesTraffic }) => receivesTraffic)
      if (!isGuarded) return []
      const counts = guards.open(group, guardEra(shifts?.get(group)))
      return [[group, createGuardOptions(config, group, members, counts)] as const]
    }),
  )
