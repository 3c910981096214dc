import type { CircuitBreakerConfig, EndpointConfig, UpstreamConfig } from '../config/config.ts'
import type { Handle } from '../exchange.ts'
import { attemptFields } from '../failures/errors.ts'
import { balancers } from './balance.ts'
import { CircuitBreaker } from './breaker.ts'
import { chooser, failover, nobody } from './choose.ts'
import type { Endpoint } from './endpoint.ts'
import { Member } from './member.ts'
import type { Tell } from './notices.ts'
import type { OnFailedAttempt } from './outcome.ts'
import { outlierDetection, type Settled } from './outlier.ts'
import type { Manner } from './sending.ts'

/** Is a named set of interchangeable endpoints with one policy. */
export interface Upstream {
  /** Is the innermost handle. */
  readonly send: Handle
  readonly members: readonly Member[]
  readonly balance: UpstreamConfig['balance']
  /** Null: nothing stops what goes to it. */
  readonly breaker: CircuitBreaker | null
  /** Has its endpoints probed and judged as configured, from the moment on at which it is the one that is used. */
  activate(): void
}

/** Is what an upstream stands on. */
export interface Ground {
  /** Finds the endpoint to a configured one, already open or new. */
  open(endpoint: EndpointConfig): Endpoint
  /** Tells whether an endpoint takes no new work. */
  drains(endpoint: EndpointConfig): boolean
  /** The breaker of the upstream that this one follows, when it has the same settings; what it knows goes on. */
  readonly breaker: CircuitBreaker | null
  readonly tell: Tell
  readonly onFailure: OnFailedAttempt
}

/** Builds an upstream. With one endpoint and no circuit breaker its send is that endpoint's own. */
export const openUpstream = (
  config: UpstreamConfig,
  { open, drains, breaker: earlier, tell, onFailure }: Ground,
): Upstream => {
  const several = config.endpoints.length > 1
  let settled: Settled | null = null
  const members = config.endpoints.map((each): Member => {
    const watch: Manner['watch'] = (outcome, why, startedAt) => {
      if (member.standing.compare(outcome, why, startedAt)) settled?.(member, outcome)
    }
    const place = { weight: each.weight, draining: drains(each), watch: several ? watch : null, onFailure }
    const member = new Member(open(each), config, place)
    return member
  })
  if (several && config.outlier !== null)
    settled = outlierDetection(config.outlier, members, (ejected) => tell('warn', 'endpoint ejected', { ...ejected }))
  const balanced = balancedSend(config, members)
  const breaker = config.circuitBreaker === null ? null : (earlier ?? openBreaker(config.circuitBreaker, tell))
  return {
    send: breaker === null ? balanced : breaker.layer(balanced),
    members,
    balance: config.balance,
    breaker,
    activate() {
      for (const member of members) {
        // The sandbox echoes the nine and nothing else: whatever is asked of it besides, it is well.
        member.endpoint.check(member.name === 'sandbox' ? null : config.healthCheck, config.host)
        // Nor does traffic keep anybody out where it is no longer judged.
        if (settled === null) member.standing.lift()
      }
    },
  }
}

const balancedSend = (config: UpstreamConfig, members: readonly Member[]): Handle => {
  const [only] = members
  if (members.length === 1 && only?.takesWork === true) return only.send
  return failover(chooser(members, balancers[config.balance]<Member>()), () => nobody(members))
}

const openBreaker = (config: CircuitBreakerConfig, tell: Tell): CircuitBreaker =>
  new CircuitBreaker(config, (state, lastFailure) => {
    const why = lastFailure === null || state === 'closed' ? {} : attemptFields(lastFailure)
    if (state === 'open') tell('warn', 'circuit breaker open', { forMs: config.openFor, ...why })
    else tell('info', 'circuit breaker lets requests through', { state, ...why })
  })
