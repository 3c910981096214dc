import type { AttemptRecord, Exchange, Handler, ProxyResponse } from '../../exchange/exchange.ts'
import { allDrainingError, GatewayError, overloadedError } from '../../exchange/failures/errors.ts'
import { failureTable } from '../../exchange/failures/failure-table.ts'
import { now } from '../../lib/clock.ts'
import type { GroupEndpoint } from '../endpoints/group-endpoint.ts'
import type { SelectEndpoint } from './balancers.ts'

/** Tries an unsent request once at each other endpoint, whatever the method: the body is whole (decision 038). */
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
  // The body is read before the selection: by its end the selected endpoint may be full or down.
  return (exchange) =>
    exchange.body.replayable ? exchange.body.read().then(() => tryFirst(exchange)) : tryFirst(exchange)
}

/** `untriedOnly` excludes tried endpoints; otherwise they come last among equals. Null: no candidate. */
export type EndpointSelector = (last: AttemptRecord | null, untriedOnly: boolean) => GroupEndpoint | null

/** A draining endpoint gets only what began before all drained. */
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
  const full = members.some(({ receivesTraffic, health }) => receivesTraffic && !health.isDrainedByOperator)
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
  const open = taking.length > 0 ? taking : eligible.filter(({ health }) => !health.isDrainedByOperator)
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
