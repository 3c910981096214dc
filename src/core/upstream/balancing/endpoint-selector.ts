import type { AttemptRecord } from '../../exchange/exchange.ts'
import { allDrainingError, type GatewayError, overloadedError } from '../../exchange/failures/errors.ts'
import { now } from '../../lib/clock.ts'
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
 * happens, but what began before an edit that drains all.
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
  // What began before an edit that drains all of them is finished there.
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
