import { type Group, groups } from '../../../operations.ts'
import type { Config, EndpointConfig } from '../../config/config.ts'
import { listSides } from '../../exchange/sides.ts'
import { getEndpointTls } from '../../upstream/endpoints/endpoint-registry.ts'
import type { ConfiguredEndpoint } from '../../upstream/health/preflight.ts'

/**
 * Endpoints that get traffic only from `next`, or by other connection settings. For a candidate, the primary's
 * endpoints are not new: an edit that swaps the two leads away from a primary that may be down.
 */
export const newEndpoints = (running: Config, next: Config): readonly ConfiguredEndpoint[] =>
  groups.flatMap((group) => {
    const before = listReceivingTraffic(running, group)
    const known = {
      primary: new Set(before.filter(({ side }) => side === 'primary').map(toConnectionKey)),
      candidate: new Set(before.map(toConnectionKey)),
    }
    return listReceivingTraffic(next, group).filter((each) => !known[each.side].has(toConnectionKey(each)))
  })

const listReceivingTraffic = ({ upstreams }: Config, group: Group): readonly ConfiguredEndpoint[] =>
  listSides(upstreams[group]).flatMap(({ side, upstream }) =>
    upstream.endpoints
      .filter((endpoint) => endpoint.origin !== 'sandbox' && receivesTraffic(endpoint))
      .map((endpoint) => ({ group, side, endpoint, upstream })),
  )

const toConnectionKey = ({ endpoint: { origin }, upstream }: ConfiguredEndpoint): string =>
  JSON.stringify([origin, getEndpointTls(origin, upstream)])

export const receivesTraffic = ({ weight, drain }: EndpointConfig): boolean => weight > 0 && !drain

export const shareEndpoint = (some: readonly EndpointConfig[], others: readonly EndpointConfig[]): boolean => {
  const names = new Set(some.map(toName))
  return others.some((endpoint) => names.has(toName(endpoint)))
}

const toName = ({ origin, pathPrefix }: EndpointConfig): string => origin + pathPrefix
