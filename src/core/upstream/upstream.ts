import type { CircuitBreakerConfig, EndpointConfig, UpstreamConfig } from '../config/config.ts'
import type { Exchange, Handler, ProxyResponse } from '../exchange/exchange.ts'
import { attemptLogFields, GatewayError } from '../exchange/failures/errors.ts'
import { failureTable } from '../exchange/failures/kinds.ts'
import { epochMs } from '../lib/clock.ts'
import type { LogEvent } from '../log/log.ts'
import type { OnFailedAttempt } from './attempt/attempt-outcome.ts'
import type { SendOptions } from './attempt/upstream-attempt.ts'
import { balancers } from './balancing/balancers.ts'
import { createEndpointSelector, type EndpointSelector, noEndpointError } from './balancing/endpoint-selector.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { type DrainedBy, GroupEndpoint } from './endpoints/group-endpoint.ts'
import { CircuitBreaker } from './health/circuit-breaker.ts'
import { createOutlierDetector } from './health/outlier-detection.ts'

/** A named set of interchangeable endpoints with one policy. */
export interface Upstream {
  /** The innermost handler. */
  readonly send: Handler
  readonly members: readonly GroupEndpoint[]
  readonly balance: UpstreamConfig['balance']
  /** Null: no circuit breaker is configured. */
  readonly breaker: CircuitBreaker | null
  /** Starts to probe and judge its endpoints as configured, once this upstream is the one in use. */
  activate(): void
}

interface UpstreamDeps {
  /** Finds the endpoint of a configured one, already open or new. */
  open(endpoint: EndpointConfig): Endpoint
  /** Called with each endpoint when this upstream is the one in use: see {@link EndpointRegistry.use}. */
  use(endpoint: Endpoint): void
  /** Returns by what an endpoint takes no new work; null: it takes some. */
  drainedBy(endpoint: EndpointConfig): DrainedBy | null
  /** The breaker of the previous upstream, when it has the same settings; its state goes on. */
  readonly breaker: CircuitBreaker | null
  readonly logEvent: LogEvent
  readonly onFailure: OnFailedAttempt
}

/** Builds an upstream. With one endpoint and no circuit breaker its `send` is that endpoint's own. */
export const openUpstream = (
  config: UpstreamConfig,
  { open, use, drainedBy, breaker: previousBreaker, logEvent, onFailure }: UpstreamDeps,
): Upstream => {
  const hasSiblings = config.endpoints.length > 1
  const members = config.endpoints.map((each): GroupEndpoint => {
    const endpoint = open(each)
    const onOutcome: SendOptions['onOutcome'] = (...ended) => endpoint.health.recordForComparison(...ended)
    const options = {
      weight: each.weight,
      drainedBy: drainedBy(each),
      onOutcome: hasSiblings ? onOutcome : null,
      onFailure,
    }
    return new GroupEndpoint(endpoint, config, options)
  })
  const detectOutlier =
    hasSiblings && config.outlier !== null
      ? createOutlierDetector(config.outlier, members, (ejected) =>
          logEvent('warn', 'endpoint ejected', { ...ejected }),
        )
      : null
  const balanced = balancedSend(config, members)
  const breaker =
    config.circuitBreaker === null ? null : (previousBreaker ?? createBreaker(config.circuitBreaker, logEvent))
  return {
    send: breaker === null ? balanced : breaker.layer(balanced),
    members,
    balance: config.balance,
    breaker,
    activate() {
      for (const { endpoint } of members) use(endpoint)
      // An endpoint that stands there twice drains where both of its entries do.
      const serving = new Set(members.filter(({ receivesTraffic }) => receivesTraffic).map(({ health }) => health))
      for (const member of members) {
        // The sandbox echoes the nine operations and nothing else: probes of any other path would fail.
        member.endpoint.configureHealthCheck(member.name === 'sandbox' ? null : config.healthCheck, config.host)
        const { health } = member
        health.judge = detectOutlier && ((outcome) => detectOutlier(member, outcome))
        // Where traffic is no longer judged, it does not keep an endpoint out either.
        if (detectOutlier === null) health.uneject()
        // An endpoint outlives the snapshots: a reload that goes on draining it is not the beginning.
        health.drainingSince = serving.has(health) ? null : (health.drainingSince ?? epochMs())
        health.isDrainedByOrder = member.drainedBy === 'order'
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

const createBreaker = (config: CircuitBreakerConfig, logEvent: LogEvent): CircuitBreaker =>
  new CircuitBreaker(config, (state, lastFailure) => {
    const logFields = lastFailure === null || state === 'closed' ? {} : attemptLogFields(lastFailure)
    if (state === 'open') logEvent('warn', 'circuit breaker open', { forMs: config.openFor, ...logFields })
    else logEvent('info', 'circuit breaker lets requests through', { state, ...logFields })
  })

/**
 * Sends an exchange to one of several endpoints. A request that could not be sent at all goes to another endpoint,
 * whatever the method: nothing of it has arrived anywhere, and its body is still whole. Each endpoint is tried once. An
 * exchange that is sent again for another reason (`retry`) goes to an untried endpoint while there is one, as in
 * Envoy's `previous_hosts` and HAProxy's `redispatch`. `noEndpoint` creates the failure of having none.
 */
export const failover = (selectEndpoint: EndpointSelector, noEndpoint: () => GatewayError): Handler => {
  const tryNext = (exchange: Exchange, error: unknown): Promise<ProxyResponse> => {
    const unsent = error instanceof GatewayError && failureTable[error.kind].retry === 'always'
    const member = unsent && exchange.aborted === null ? selectEndpoint(exchange.attemptOnSide, true) : null
    if (member === null) throw error
    return member.send(exchange).catch((nextError) => tryNext(exchange, nextError))
  }
  const tryFirst = (exchange: Exchange): Promise<ProxyResponse> => {
    const member = selectEndpoint(exchange.attemptOnSide, false)
    if (member === null) return Promise.reject(noEndpoint())
    return member.send(exchange).catch((error) => tryNext(exchange, error))
  }
  // A body that is read first is read before the selection: by then the selected endpoint might be full, or out.
  return (exchange) =>
    exchange.body.replayable ? exchange.body.read().then(() => tryFirst(exchange)) : tryFirst(exchange)
}
