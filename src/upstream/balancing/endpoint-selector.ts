import { now } from '../../clock.ts'
import type { AttemptRecord, Exchange, Handler, ProxyResponse } from '../../exchange.ts'
import { GatewayError, overloadedError } from '../../failures/errors.ts'
import { failureTable } from '../../failures/kinds.ts'
import type { GroupEndpoint } from '../endpoints/group-endpoint.ts'
import type { SelectEndpoint } from './balancers.ts'

/**
 * Selects the endpoint of an exchange, given its last attempt. `untriedOnly`: an endpoint that was tried is no
 * candidate; else it is one only when all endpoints that are as good were tried. Null: there is no candidate.
 */
export type EndpointSelector = (last: AttemptRecord | null, untriedOnly: boolean) => GroupEndpoint | null

/**
 * Creates the selector of an upstream. Members that are up come first. When none is, ejected ones come next, then those
 * that are down: a response is more likely from them than from no endpoint. A member that drains gets nothing, whatever
 * happens.
 */
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

/** Creates the failure of having no endpoint for the first attempt: all are full, or none takes traffic. */
export const noEndpointError = (members: readonly GroupEndpoint[]): GatewayError => {
  const full = members.some(({ receivesTraffic }) => receivesTraffic)
  return full
    ? overloadedError('endpoint-connections')
    : new GatewayError('no-healthy-endpoint', { reason: 'all-draining', fields: ['Retry-After', '1'] })
}

const isAvailable = ({ health, endpoint }: GroupEndpoint, at: number): boolean =>
  !health.isDown && !health.isEjected(at) && !endpoint.pool.isFull

const bestAvailable = (
  eligible: readonly GroupEndpoint[],
  last: AttemptRecord | null,
  untriedOnly: boolean,
  at: number,
): readonly GroupEndpoint[] => {
  const untried = ({ name }: GroupEndpoint): boolean => !hasTried(last, name)
  const remaining = eligible.filter((each) => !each.endpoint.pool.isFull && (!untriedOnly || untried(each)))
  const up = remaining.filter(({ health }) => !health.isDown)
  const healthy = up.filter(({ health }) => !health.isEjected(at))
  const choice = healthy.length > 0 ? healthy : up.length > 0 ? up : remaining
  const untriedChoice = choice.filter(untried)
  return untriedChoice.length > 0 ? untriedChoice : choice
}

/** Returns whether an endpoint, by its name, was tried by an attempt or one before it. */
const hasTried = (last: AttemptRecord | null, name: string): boolean => {
  for (let each = last; each !== null; each = each.previous) if (each.endpoint === name) return true
  return false
}

/**
 * Sends an exchange to one of several endpoints. A request that could not be sent at all goes to another endpoint,
 * whatever the method: nothing of it has arrived anywhere, and its body is still whole. Each endpoint is tried once. An
 * exchange that is sent again for another reason (`retry`) goes to an untried endpoint while there is one, as in
 * Envoy's `previous_hosts` and HAProxy's `redispatch`. `noEndpoint` creates the failure of having none.
 */
export const failover = (selectEndpoint: EndpointSelector, noEndpoint: () => GatewayError): Handler => {
  const tryNext = (exchange: Exchange, error: unknown): Promise<ProxyResponse> => {
    const unsent = error instanceof GatewayError && failureTable[error.kind].retry === 'always'
    const member = unsent && exchange.aborted === null ? selectEndpoint(exchange.attempt, true) : null
    if (member === null) throw error
    return member.send(exchange).catch((nextError) => tryNext(exchange, nextError))
  }
  const tryFirst = (exchange: Exchange): Promise<ProxyResponse> => {
    const member = selectEndpoint(exchange.attempt, false)
    if (member === null) return Promise.reject(noEndpoint())
    return member.send(exchange).catch((error) => tryNext(exchange, error))
  }
  // A body that is read first is read before the selection: by then the selected endpoint might be full, or out.
  return (exchange) =>
    exchange.body.replayable ? exchange.body.read().then(() => tryFirst(exchange)) : tryFirst(exchange)
}
