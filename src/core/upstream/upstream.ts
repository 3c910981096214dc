import type { CircuitBreakerConfig, EndpointConfig, UpstreamConfig } from '../config/config.ts'
import type { AttemptRecord, Exchange, Handler, ProxyResponse } from '../exchange/exchange.ts'
import { allDrainingError, attemptLogFields, GatewayError, overloadedError } from '../exchange/failures/errors.ts'
import { failureTable } from '../exchange/failures/failure-table.ts'
import { epochMs, now } from '../lib/clock.ts'
import type { LogEvent } from '../log/log.ts'
import type { OnFailedAttempt } from './attempt/attempt-outcome.ts'
import type { SendOptions } from './attempt/upstream-attempt.ts'
import { balancers, type SelectEndpoint } from './balancing/balancers.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { type DrainedBy, GroupEndpoint } from './endpoints/group-endpoint.ts'
import { CircuitBreaker } from './health/circuit-breaker.ts'
import { createOutlierDetector, type EjectionEvent } from './health/outlier-detection.ts'

export type Upstream = Readonly<ReturnType<typeof openUpstream>>

interface UpstreamDeps {
  open(endpoint: EndpointConfig): Endpoint
  use(endpoint: Endpoint): void
  drainedBy(endpoint: EndpointConfig): DrainedBy | null
  /** The previous breaker where the settings are equal: its state continues. */
  readonly breaker: Readonly<CircuitBreaker> | null
  readonly logEvent: LogEvent
  readonly onFailure: OnFailedAttempt
}

/** With one endpoint and no circuit breaker, `send` is that endpoint's own. */
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
  const onEjected = (ejected: EjectionEvent): void => logEvent('warn', 'endpoint ejected', { ...ejected })
  const detectOutlier =
    hasSiblings && config.outlier !== null ? createOutlierDetector(config.outlier, members, onEjected) : null
  const balanced = balancedSend(config, members)
  const breaker =
    config.circuitBreaker === null ? null : (previousBreaker ?? createBreaker(config.circuitBreaker, logEvent))
  return {
    send: breaker === null ? balanced : breaker.layer(balanced),
    members,
    balance: config.balance,
    /** Null: none is configured. */
    breaker,
    /** Starts probes and judgments, once this upstream is in use. */
    activate(): void {
      for (const { endpoint } of members) use(endpoint)
      // An endpoint listed twice drains only if both entries do.
      const serving = new Set(members.filter(({ receivesTraffic }) => receivesTraffic).map(({ health }) => health))
      for (const member of members) {
        // The sandbox echoes only the nine operations: a probe of another path would fail.
        member.endpoint.configureHealthCheck(member.name === 'sandbox' ? null : config.healthCheck, config.host)
        const { health } = member
        health.judge = detectOutlier && ((outcome) => detectOutlier(member, outcome))
        // An old ejection ends.
        if (detectOutlier === null) health.uneject()
        // An endpoint outlives the snapshots: a reload does not restart its drain.
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

const createBreaker = (config: CircuitBreakerConfig, logEvent: LogEvent): Readonly<CircuitBreaker> =>
  new CircuitBreaker(config, (state, lastFailure) => {
    const logFields = lastFailure === null || state === 'closed' ? {} : attemptLogFields(lastFailure)
    if (state === 'open') logEvent('warn', 'circuit breaker open', { forMs: config.openFor, ...logFields })
    else logEvent('info', 'circuit breaker lets requests through', { state, ...logFields })
  })

/** An unsent request goes once to each other endpoint, whatever the method: its body is whole (decision 038). */
export const failover = (selectEndpoint: EndpointSelector, noEndpoint: () => GatewayError): Handler => {
  const tryNext = (exchange: Exchange, error: unknown): Promise<ProxyResponse> => {
    const unsent = error instanceof GatewayError && failureTable[error.kind].retry === 'always' // nothing has arrived
    const member = unsent && exchange.aborted === null ? selectEndpoint(exchange.attemptOnSide, true) : null
    if (member === null) throw error
    return member.send(exchange).catch((nextError) => tryNext(exchange, nextError))
  }
  const tryFirst = (exchange: Exchange): Promise<ProxyResponse> => {
    const member = selectEndpoint(exchange.attemptOnSide, false)
    if (member === null) return Promise.reject(noEndpoint())
    return member.send(exchange).catch((error) => tryNext(exchange, error))
  }
  // Read before the selection: the selected endpoint might be full or down when the body ends.
  return (exchange) =>
    exchange.body.replayable ? exchange.body.read().then(() => tryFirst(exchange)) : tryFirst(exchange)
}

/** `untriedOnly`: tried endpoints are excluded; else they come last among equals. Null: no candidate. */
export type EndpointSelector = (last: AttemptRecord | null, untriedOnly: boolean) => GroupEndpoint | null

/** Up before ejected before down: likelier to respond. A draining member gets only what began before all drained. */
export const createEndpointSelector = (
  members: readonly GroupEndpoint[],
  selectEndpoint: SelectEndpoint<GroupEndpoint>,
): EndpointSelector => {
  const eligible = members.filter(({ receivesTraffic }) => receivesTraffic)
  return (last, untriedOnly) => {
    const at = now()
    const candidates =
      last === null && eligible.every((each) => isAvailable(each, at))
        ? eligible
        : bestAvailable(eligible, last, untriedOnly, at)
    return candidates.length === 0 ? null : selectEndpoint(candidates, at)
  }
}

export const noEndpointError = (members: readonly GroupEndpoint[]): GatewayError => {
  const full = members.some(({ receivesTraffic, health }) => receivesTraffic && !health.isDrainedByOrder)
  return full ? overloadedError('endpoint-connections') : allDrainingError()
}

const isAvailable = ({ takesRequests, health, endpoint }: GroupEndpoint, at: number): boolean =>
  takesRequests && !health.isDown && !health.isEjected(at) && !endpoint.pool.isFull

const bestAvailable = (
  eligible: readonly GroupEndpoint[],
  last: AttemptRecord | null,
  untriedOnly: boolean,
  at: number,
): readonly GroupEndpoint[] => {
  const untried = ({ name }: GroupEndpoint): boolean => !hasTried(last, name)
  const taking = eligible.filter(({ takesRequests }) => takesRequests)
  // Requests that began before an edit drained all endpoints finish there.
  const open = taking.length > 0 ? taking : eligible.filter(({ health }) => !health.isDrainedByOrder)
  const remaining = open.filter((each) => !each.endpoint.pool.isFull && (!untriedOnly || untried(each)))
  const up = remaining.filter(({ health }) => !health.isDown)
  const healthy = up.filter(({ health }) => !health.isEjected(at))
  const choice = healthy.length > 0 ? healthy : up.length > 0 ? up : remaining
  const untriedChoice = choice.filter(untried)
  return untriedChoice.length > 0 ? untriedChoice : choice
}

const hasTried = (last: AttemptRecord | null, name: string): boolean => {
  for (let each = last; each !== null; each = each.previous) if (each.endpoint === name) return true
  return false
}
