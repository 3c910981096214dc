import { byGroup, type Group } from '../../../operations.ts'
import type { Config, UpstreamConfig } from '../../config/config.ts'
import type { CircuitBreaker } from '../../upstream/health/circuit-breaker.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { receivesTraffic, shareEndpoint } from '../reload/new-endpoints.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * Returns the circuit breakers that go on from the previous snapshot. It is no part of building one, whose closures
 * live as long as the new snapshot: a closure there that sees the previous snapshot would keep it in memory, which
 * keeps the one before, and so every snapshot there ever was.
 */
export const carryBreakers = (
  config: Config,
  previous: Snapshot | null,
): Readonly<Record<Group, CircuitBreaker | null>> =>
  byGroup((group) =>
    carryBreaker(config.upstreams[group], previous?.config.upstreams[group], previous?.upstreams[group]),
  )

/**
 * Returns the circuit breaker of one side of a group: an open one stays open over an edit of something else. Where no
 * endpoint that received traffic goes on receiving it, the breaker is not carried over: it knows of an outage that the
 * operator has just led the traffic around.
 */
export const carryBreaker = (
  next: UpstreamConfig | undefined,
  before: UpstreamConfig | undefined,
  running: Upstream | null | undefined,
): CircuitBreaker | null => {
  if (next === undefined || before === undefined || running == null) return null
  const same = JSON.stringify(before.circuitBreaker) === JSON.stringify(next.circuitBreaker)
  const [used, usedBefore] = [next.endpoints.filter(receivesTraffic), before.endpoints.filter(receivesTraffic)]
  return same && shareEndpoint(used, usedBefore) ? running.breaker : null
}
