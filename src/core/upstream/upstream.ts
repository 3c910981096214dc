import type { CircuitBreakerConfig, EndpointConfig, UpstreamConfig } from '../config/config.ts'
import type { Handler } from '../exchange/exchange.ts'
import { attemptLogFields } from '../exchange/failures/errors.ts'
import { epochMs } from '../lib/clock.ts'
import type { LogEvent } from '../log/log.ts'
import type { OnFailedAttempt } from './attempt/attempt-outcome.ts'
import type { SendOptions } from './attempt/upstream-attempt.ts'
import { balancers } from './balancing/balancers.ts'
import { createEndpointSelector, failover, noEndpointError } from './balancing/endpoint-selector.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { type DrainedBy, GroupEndpoint } from './endpoints/group-endpoint.ts'
import { CircuitBreaker } from './health/circuit-breaker.ts'
import { createOutlierDetector } from './health/outlier-detection.ts'

export type Upstream = Readonly<ReturnType<typeof openUpstream>>

interface UpstreamDeps {
  open(endpoint: EndpointConfig): Endpoint
  use(endpoint: Endpoint): void
  drainedBy(endpoint: EndpointConfig): DrainedBy | null
  readonly breaker: Readonly<CircuitBreaker> | null
  readonly logEvent: LogEvent
  readonly onFailure: OnFailedAttempt
}

export const openUpstream = (
  config: UpstreamConfig,
  { open, use, drainedBy, breaker: previousBreaker, logEvent, onFailure }: UpstreamDeps,
) => {
  const hasSiblings = config.endpoints.length > 1
  const members: readonly GroupEndpoint[] = config.endpoints.map((each) => {
    const endpoint = open(each)
    const judge: SendOptions['onOutcome'] = (...ended) => endpoint.health.recordForComparison(...ended)
    const onOutcome = hasSiblings ? judge : null
    return new GroupEndpoint(endpoint, config, {
      weight: each.weight,
      drainedBy: drainedBy(each),
      onOutcome,
      onFailure,
    })
  })
  const detectOutlier =
    hasSiblings && config.outlier !== null ? createOutlierDetector(config.outlier, members, logEvent) : null
  const balanced = balancedSend(config, members)
  const breaker =
    config.circuitBreaker === null ? null : (previousBreaker ?? createBreaker(config.circuitBreaker, logEvent))
  return {
    send: breaker === null ? balanced : breaker.layer(balanced),
    members,
    balance: config.balance,
    breaker,
    activate(): void {
      for (const { endpoint } of members) use(endpoint)
      // An endpoint listed twice drains only if both entries do.
      const serving = new Set(members.filter(({ receivesTraffic }) => receivesTraffic).map(({ health }) => health))
      for (const member of members) {
        // The sandbox echoes only the nine operations, so a probe of another path would fail.
        member.endpoint.configureHealthCheck(member.name === 'sandbox' ? null : config.healthCheck, config.host)
        const { health } = member
        health.judge = detectOutlier && ((outcome) => detectOutlier(member, outcome))
        if (detectOutlier === null) health.uneject()
        // The endpoint outlives snapshots: a reload does not restart its drain.
        health.drainingSince = serving.has(health) ? null : (health.drainingSince ?? epochMs())
        health.isDrainedByOperator = member.drainedBy === 'operator'
      }
    },
  }
}

const balancedSend = (config: UpstreamConfig, members: readonly GroupEndpoint[]): Handler => {
  const [only] = members
  if (members.length === 1 && only?.receivesTraffic === true) return only.send
  return failover(createEndpointSelector(members, balancers[config.balance]<GroupEndpoint>()), () =>
    noEndpointError(members),
  )
}

const createBreaker = (config: CircuitBreakerConfig, logEvent: LogEvent): Readonly<CircuitBreaker> =>
  new CircuitBreaker(config, (state, lastFailure) => {
    const logFields = lastFailure === null || state === 'closed' ? {} : attemptLogFields(lastFailure)
    if (state === 'open') logEvent('warn', 'circuit breaker open', { forMs: config.openFor, ...logFields })
    else logEvent('info', 'circuit breaker lets requests through', { state, ...logFields })
  })
