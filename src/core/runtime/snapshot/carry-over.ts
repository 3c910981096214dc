import { byGroup, type Group } from '../../../operations.ts'
import type { Config, UpstreamConfig } from '../../config/config.ts'
import type { CircuitBreaker } from '../../upstream/health/circuit-breaker.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { receivesTraffic, shareEndpoint } from '../reload/new-endpoints.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * Returns the circuit breakers to carry over from the previous snapshot. A function of its own: a closure in
 * `buildSnapshot` that sees `previous` would keep each snapshot's predecessor in memory.
 */
export const carryBreakers = (
  config: Config,
  previous: Snapshot | null,
): Readonly<Record<Group, CircuitBreaker | null>> =>
  byGroup((group) =>
    carryBreaker(config.upstreams[group], previous?.config.upstreams[group], previous?.upstreams[group]),
  )

/**
 * Returns the circuit breaker of one side of a group: an open breaker stays open over an edit of other settings. If no
 * endpoint that received traffic still receives it, the breaker is dropped: it counts an outage that the operator has
 * just routed around.
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
