import { byGroup, byOperation, type Group } from '../catalog.ts'
import type { Config, EndpointConfig, RetryConfig, UpstreamConfig } from '../config/config.ts'
import { RetryBudget } from '../layers/retry/retry.ts'
import type { Auditor } from '../observe/audit/line.ts'
import type { Limiters } from '../shared/limiter/limiters.ts'
import type { CircuitBreaker } from '../upstream/breaker.ts'
import type { Endpoint } from '../upstream/endpoint.ts'
import type { Endpoints } from '../upstream/endpoints.ts'
import type { Tell } from '../upstream/notices.ts'
import type { OnFailedAttempt } from '../upstream/outcome.ts'
import { openUpstream } from '../upstream/upstream.ts'
import { takesWork } from './brought.ts'
import type { Caches } from './caches.ts'
import { holdClientLimits } from './client-limits.ts'
import { guardOf } from './guard.ts'
import { isDrained, keyOf, type Said } from './overrides.ts'
import { noPressure, type Pressure } from './pressure.ts'
import { holdAddressLimit } from './rate-limits.ts'
import { type Observation, recorders } from './recorders.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'
import { stack } from './stack.ts'
import type { TokenSources } from './token-sources.ts'
import { noTracing, type Tracings } from './tracings.ts'

/** All that a snapshot is built from. */
export interface State {
  readonly config: Config
  /** What operators have said beside it. */
  readonly said: Said
  /** Where the embedded upstream listens; null: nothing uses it. */
  readonly sandboxOrigin: string | null
}

/** Is what all snapshots of a process share, one after the other. */
export interface Shared {
  readonly endpoints: Endpoints
  readonly limiters: Limiters
  readonly sources: TokenSources
  readonly caches: Caches
  readonly auditor: Auditor
  readonly observation: Observation
  /** Null: nobody is served here. */
  readonly tracings: Tracings | null
  /** Hears what is not of an endpoint, from the first snapshot on. */
  readonly tell: Tell
}

/**
 * Builds a whole snapshot on what is open already, and on what is new. When it throws, it has given back whatever it took. What has been learnt
 * for `previous`, the snapshot that runs, goes on where the settings that shape it are the same.
 */
export const build = (
  { config, said, sandboxOrigin }: State,
  previous: Snapshot | null,
  { endpoints, limiters, sources, caches: allCaches, auditor, observation, tracings, tell }: Shared,
): Snapshot => {
  const { breakers, budgets, pressure } = carriedOver(config, previous, tell)
  const taken: Endpoint[] = []
  const traces = tracings?.hold(config) ?? noTracing
  const guard = guardOf(config, sources, limiters)
  const addressLimit = holdAddressLimit(config.limits, limiters)
  const clientLimits = holdClientLimits(config.clients, config.limits, limiters)
  const caches = allCaches.hold(config)
  const release = async (): Promise<void> => {
    caches.release()
    clientLimits.release()
    addressLimit?.release()
    guard.release()
    await Promise.all([...taken.map((endpoint) => endpoints.release(endpoint)), traces.release()])
  }
  try {
    const upstreams = byGroup((group) => {
      const upstream = config.upstreams[group]
      const open = (endpoint: EndpointConfig): Endpoint => {
        const opened = endpoints.take(group, endpoint, upstream, sandboxOrigin ?? '')
        taken.push(opened)
        return opened
      }
      const drains = ({ origin, pathPrefix, drain }: EndpointConfig): boolean =>
        isDrained(said.endpoints, keyOf(group, origin + pathPrefix), drain)
      const onFailure: OnFailedAttempt =
        config.metrics === null
          ? () => {}
          : (attempt, { operation }) => observation.meter.operations[operation.id].attemptFailed(attempt)
      const ground = { open, drains, breaker: breakers[group], tell: endpoints.tellOf(group), onFailure }
      return openUpstream(upstream, ground)
    })
    const handles = byOperation((operation) => {
      const { id, group } = operation
      const stacked = {
        operation,
        config,
        budget: unlessOpen(upstreams[group].breaker, budgets[group]),
        addressLimiter: addressLimit?.limiter ?? null,
        guard,
        clientLimits,
        pressure,
        traces: traces.tracing,
        meter: observation.meter,
        auditor,
        caches,
      }
      return stack(stacked, upstreams[group].send, said.operations.of(id))
    })
    const heard = recorders(config, observation, auditor)
    const rates = { address: addressLimit, clients: clientLimits }
    return openSnapshot(
      { config, handles, upstreams, budgets, pressure, rates, guard, caches, auditor, observation, recorders: heard },
      release,
    )
  } catch (error) {
    void release()
    throw error
  }
}

/** Grants no retry, and takes none from the budget, while the breaker would refuse it. */
const unlessOpen = (
  breaker: Pick<CircuitBreaker, 'state'> | null,
  budget: RetryBudget | null,
): Pick<RetryBudget, 'requested' | 'take'> | null =>
  breaker === null || budget === null
    ? budget
    : { requested: () => budget.requested(), take: () => breaker.state !== 'open' && budget.take() }

interface CarriedOver {
  readonly breakers: Readonly<Record<Group, CircuitBreaker | null>>
  readonly budgets: Readonly<Record<Group, RetryBudget | null>>
  readonly pressure: Pressure
}

/**
 * Finds what goes on from the snapshot before. Not within `build`, because what it makes lives as long as its snapshot: a closure there that
 * sees the previous one would keep it, which keeps the one before, and so every one that there ever was.
 */
const carriedOver = (config: Config, previous: Snapshot | null, tell: Tell): CarriedOver => ({
  breakers: byGroup((group) => breakerOf(group, config.upstreams[group], previous)),
  budgets: byGroup((group) => budgetOf(group, config.upstreams[group].retry, previous)),
  pressure: previous?.pressure ?? noPressure(tell),
})

/** Finds the budget of a group: the one that it had, as long as its settings are the same, or else an edit would hand out a new start. */
const budgetOf = (group: Group, retry: RetryConfig | null, previous: Snapshot | null): RetryBudget | null => {
  if (retry === null) return null
  const kept = previous?.budgets[group] ?? null
  const before = previous?.config.upstreams[group].retry?.budget
  const same = before?.share === retry.budget.share && before.floor === retry.budget.floor
  return kept !== null && same ? kept : new RetryBudget(retry.budget)
}

/**
 * Finds the breaker of a group: one that is open stays so over an edit of something else. Where none of those that took work goes on doing
 * so, what it knows is of an outage that somebody has just led the traffic around.
 */
const breakerOf = (group: Group, upstream: UpstreamConfig, previous: Snapshot | null): CircuitBreaker | null => {
  const before = previous?.config.upstreams[group]
  if (previous === null || before === undefined) return null
  const same = JSON.stringify(before.circuitBreaker) === JSON.stringify(upstream.circuitBreaker)
  const names = takers(before)
  return same && takers(upstream).some((name) => names.includes(name)) ? previous.upstreams[group].breaker : null
}

const takers = ({ endpoints }: UpstreamConfig): readonly string[] =>
  endpoints.filter(takesWork).map(({ origin, pathPrefix }) => origin + pathPrefix)
