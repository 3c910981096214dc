import type { Config, RetryConfig, UpstreamConfig } from '../../config/config.ts'
import type { GuardOptions } from '../../layers/candidate/guard.ts'
import { RetryBudget } from '../../layers/resilience/retry.ts'
import type { AuditSink } from '../../observe/audit/audit-sink.ts'
import { DriftCounts } from '../../observe/contract/drift-counts.ts'
import { byGroup, byOperation, type Group, groups, type Side } from '../../operations.ts'
import type { LogEvent } from '../../shared/log-event.ts'
import type { RateLimiterRegistry } from '../../shared/rate-limiter/rate-limiter-registry.ts'
import type { OnFailedAttempt } from '../../upstream/attempt/attempt-outcome.ts'
import type { Endpoint } from '../../upstream/endpoints/endpoint.ts'
import type { EndpointRegistry, EndpointUse } from '../../upstream/endpoints/endpoint-registry.ts'
import type { CircuitBreaker } from '../../upstream/health/circuit-breaker.ts'
import { openUpstream, type Upstream } from '../../upstream/upstream.ts'
import { isDrained, type OverridesView, toEndpointKey } from '../overrides.ts'
import { createAuthProvider } from '../pipeline/auth-provider.ts'
import {
  type CandidateUse,
  createGuardOptions,
  createRetryAllowance,
  createSend,
  findCandidateUse,
  guardEra,
  withoutExposedField,
} from '../pipeline/candidate-layers.ts'
import { composeLayers } from '../pipeline/layer-stack.ts'
import { listObservers, type ProcessTelemetry } from '../pipeline/observers.ts'
import { receivesTraffic } from '../reload/new-endpoints.ts'
import type { CacheRegistry } from '../resources/cache-registry.ts'
import { acquireClientLimits } from '../resources/client-limits.ts'
import { continueLearning, getLearningMode } from '../resources/contract-learning.ts'
import type { ContractValidatorsCache } from '../resources/contract-validators.ts'
import type { IdempotencyRegistry } from '../resources/idempotency-registry.ts'
import { createProcessLoad, type ProcessLoad } from '../resources/process-load.ts'
import { acquireAddressLimiter } from '../resources/rate-limits.ts'
import type { TokenVerifiers } from '../resources/token-verifiers.ts'
import { nullTracerLease, type TracerRegistry } from '../resources/tracer-registry.ts'
import { openShadow } from './open-shadow.ts'
import { createSnapshot, type Snapshot } from './snapshot.ts'

/** Everything that a snapshot is built from. */
export interface SnapshotInput {
  readonly config: Config
  /** The operators' overrides, which go before the file. */
  readonly overrides: OverridesView
  /** The origin of the embedded upstream. Null: no endpoint uses it. */
  readonly sandboxOrigin: string | null
}

/** What all snapshots of a process share, one after the other. */
export interface SharedResources {
  readonly endpoints: EndpointRegistry
  readonly limiters: RateLimiterRegistry
  readonly tokenVerifiers: TokenVerifiers
  readonly caches: CacheRegistry
  readonly idempotency: IdempotencyRegistry
  readonly contractValidators: ContractValidatorsCache
  /** What names are hashed with when the contract is learnt. */
  readonly learningKey: string
  readonly auditSink: AuditSink
  readonly telemetry: ProcessTelemetry
  /** Null: this process serves no clients. */
  readonly tracers: TracerRegistry | null
  /** Logs events that belong to no endpoint, from the first snapshot on. */
  readonly logEvent: LogEvent
}

/**
 * Builds a whole snapshot on the resources that are open already, and on new ones. When it throws, it has released
 * everything that it acquired. What was learnt for `previous`, the snapshot that runs, goes on where the settings that
 * shape it are the same.
 */
export const buildSnapshot = (
  { config, overrides, sandboxOrigin }: SnapshotInput,
  previous: Snapshot | null,
  {
    endpoints,
    limiters,
    tokenVerifiers,
    caches: cacheRegistry,
    idempotency: idempotencyRegistry,
    contractValidators,
    learningKey,
    auditSink,
    telemetry,
    tracers,
    logEvent,
  }: SharedResources,
): Snapshot => {
  const { breakers, retryBudgets, processLoad, driftCounts } = carryOver(config, previous, logEvent)
  const learningMode = getLearningMode(config, overrides.learning)
  const learning = continueLearning(learningMode, config, previous?.learning ?? null, learningKey)
  const acquired: Endpoint[] = []
  const tracerLease = tracers?.acquire(config) ?? nullTracerLease
  const authProvider = createAuthProvider(config, tokenVerifiers, limiters)
  const addressLimit = acquireAddressLimiter(config.limits, limiters)
  const clientLimits = acquireClientLimits(config.clients, config.limits, limiters)
  const candidateUses = byGroup((group) =>
    findCandidateUse(config.upstreams[group].candidate, overrides.shifts.get(group)),
  )
  const caches = cacheRegistry.acquire(config, (group) => candidateUses[group] !== null)
  const idempotency = idempotencyRegistry.acquire(config)
  const validators = contractValidators.get(config)
  const release = async (): Promise<void> => {
    idempotency?.release()
    caches.release()
    clientLimits.release()
    addressLimit?.release()
    authProvider.release()
    await Promise.all([...acquired.map((endpoint) => endpoints.release(endpoint)), tracerLease.release()])
  }
  try {
    const open = (
      group: Group,
      use: EndpointUse,
      upstream: UpstreamConfig,
      breaker: CircuitBreaker | null,
    ): Upstream => {
      const onFailure: OnFailedAttempt =
        config.metrics === null || use === 'shadow'
          ? () => {}
          : (attempt, { operation }) =>
              telemetry.requestMetrics.operations[operation.id].countFailedAttempt(attempt, use)
      return openUpstream(withoutExposedField(upstream, config.upstreams[group].candidate), {
        open: (endpoint) => {
          const opened = endpoints.acquire(group, use, endpoint, upstream, sandboxOrigin ?? '')
          acquired.push(opened)
          return opened
        },
        drains: ({ origin, pathPrefix, drain }) =>
          isDrained(overrides.endpoints, toEndpointKey(group, origin + pathPrefix), drain),
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
      const openForCopies = (upstream: UpstreamConfig): Upstream => open(group, 'shadow', upstream, null)
      if (candidate === null || running === null || overrides.shifts.get(group)?.isStopped === true) return null
      return openShadow(candidate, running, openForCopies, telemetry.shadows[group], () => {})
    })
    const guards = openGuards(config, candidateUses, overrides, telemetry)
    const handlers = byOperation((operation) => {
      const { id, group } = operation
      const candidateUse = candidateUses[group]
      const options = {
        operation,
        config,
        retryBudget: createRetryAllowance(retryBudgets[group], upstreams[group], candidates[group]),
        addressLimiter: addressLimit?.limiter ?? null,
        authProvider,
        clientLimits,
        processLoad,
        tracing: tracerLease.tracing,
        requestMetrics: telemetry.requestMetrics,
        auditSink,
        caches,
        idempotency,
        learningMode,
        candidateUse,
        guard: guards.get(group) ?? null,
        learning: learning && { learner: learning.learner, ...telemetry.contract },
        shadow: shadows[group],
        contract: validators && driftCounts && { validators, driftCounts, ...telemetry.contract },
      }
      const { candidate } = config.upstreams[group]
      const send = createSend(upstreams[group], candidates[group], candidate, candidateUse)
      return composeLayers(options, send, overrides.operations.get(id))
    })
    const observers = listObservers(config, telemetry, auditSink, guards)
    const rateLimiters = { address: addressLimit, clients: clientLimits }
    return createSnapshot(
      {
        config,
        handlers,
        upstreams,
        candidates,
        retryBudgets,
        processLoad,
        rateLimiters,
        authProvider,
        caches,
        idempotency,
        driftCounts,
        learning,
        auditSink,
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

/** Opens what the guards of the groups count with whose candidate has clients. */
const openGuards = (
  config: Config,
  candidateUses: Readonly<Record<Group, CandidateUse | null>>,
  { shifts }: Pick<OverridesView, 'shifts'>,
  { guards }: ProcessTelemetry,
): ReadonlyMap<Group, GuardOptions> =>
  new Map(
    groups.flatMap((group) =>
      candidateUses[group] === null || config.upstreams[group].candidate?.guard == null
        ? []
        : [[group, createGuardOptions(config, group, guards.open(group, guardEra(shifts.get(group))))] as const],
    ),
  )

/** What goes on from the previous snapshot. */
interface CarriedOver {
  readonly breakers: Readonly<Record<Side, Readonly<Record<Group, CircuitBreaker | null>>>>
  readonly retryBudgets: Readonly<Record<Group, RetryBudget | null>>
  readonly processLoad: ProcessLoad
  readonly driftCounts: DriftCounts | null
}

/**
 * Returns what goes on from the previous snapshot. It stands outside {@link buildSnapshot}, whose closures live as long
 * as the new snapshot: a closure there that sees the previous snapshot would keep it in memory, which keeps the one
 * before, and so every snapshot there ever was.
 */
const carryOver = (config: Config, previous: Snapshot | null, logEvent: LogEvent): CarriedOver => ({
  breakers: {
    primary: byGroup((group) =>
      carryBreaker(config.upstreams[group], previous?.config.upstreams[group], previous?.upstreams[group]),
    ),
    candidate: byGroup((group) =>
      carryBreaker(
        config.upstreams[group].candidate?.upstream,
        previous?.config.upstreams[group].candidate?.upstream,
        previous?.candidates[group],
      ),
    ),
  },
  retryBudgets: byGroup((group) => carryRetryBudget(group, config.upstreams[group].retry, previous)),
  processLoad: previous?.processLoad ?? createProcessLoad(logEvent),
  driftCounts: carryDriftCounts(config.compiledContract, previous),
})

/**
 * Returns the retry budget of a group. It stays as long as its settings are the same; otherwise every edit would refill
 * it.
 */
const carryRetryBudget = (group: Group, retry: RetryConfig | null, previous: Snapshot | null): RetryBudget | null => {
  if (retry === null) return null
  const kept = previous?.retryBudgets[group] ?? null
  const before = previous?.config.upstreams[group].retry?.budget
  const same = before?.share === retry.budget.share && before.floor === retry.budget.floor
  return kept !== null && same ? kept : new RetryBudget(retry.budget)
}

/**
 * Returns the circuit breaker of one side of a group: an open one stays open over an edit of something else. Where no
 * endpoint that received traffic goes on receiving it, the breaker is not carried over: it knows of an outage that the
 * operator has just led the traffic around.
 */
const carryBreaker = (
  next: UpstreamConfig | undefined,
  before: UpstreamConfig | undefined,
  running: Upstream | null | undefined,
): CircuitBreaker | null => {
  if (next === undefined || before === undefined || running == null) return null
  const same = JSON.stringify(before.circuitBreaker) === JSON.stringify(next.circuitBreaker)
  const names = originsReceivingTraffic(before)
  return same && originsReceivingTraffic(next).some((name) => names.includes(name)) ? running.breaker : null
}

/**
 * Returns the counts of what breaks the contract; null: there is none. They stay as long as the contract is the same:
 * what broke another one says nothing.
 */
const carryDriftCounts = (contract: Config['compiledContract'], previous: Snapshot | null): DriftCounts | null => {
  if (contract === null) return null
  const before = previous?.driftCounts
  return before?.digest === contract.digest ? before : new DriftCounts(contract.digest)
}

const originsReceivingTraffic = ({ endpoints }: UpstreamConfig): readonly string[] =>
  endpoints.filter(receivesTraffic).map(({ origin, pathPrefix }) => origin + pathPrefix)
