import type { Config, EndpointConfig, UpstreamConfig } from '../../config/config.ts'
import { type Group, groups, type Side } from '../../operations.ts'
import { listSides } from '../../sides.ts'
import { getEndpointTls } from '../../upstream/endpoints/endpoint-registry.ts'

/** An endpoint that an edit gives traffic to. */
export interface NewEndpoint {
  readonly group: Group
  readonly side: Side
  readonly endpoint: EndpointConfig
  readonly upstream: UpstreamConfig
}

/**
 * Lists the endpoints that get traffic from a configuration and got none from the running one, or were connected to in
 * another way. To a candidate those of the primary are not new: an edit that changes the two around leads away from a
 * primary that may be down.
 */
export const newEndpoints = (running: Config, next: Config): readonly NewEndpoint[] =>
  groups.flatMap((group) => {
    const before = listReceivingTraffic(running, group)
    const known = {
      primary: new Set(before.filter(({ side }) => side === 'primary').map(toConnectionKey)),
      candidate: new Set(before.map(toConnectionKey)),
    }
    return listReceivingTraffic(next, group).filter((each) => !known[each.side].has(toConnectionKey(each)))
  })

const listReceivingTraffic = ({ upstreams }: Config, group: Group): readonly NewEndpoint[] =>
  listSides(upstreams[group]).flatMap(({ side, upstream }) =>
    upstream.endpoints
      .filter((endpoint) => endpoint.origin !== 'sandbox' && receivesTraffic(endpoint))
      .map((endpoint) => ({ group, side, endpoint, upstream })),
  )

const toConnectionKey = ({ endpoint: { origin }, upstream }: NewEndpoint): string =>
  JSON.stringify([origin, getEndpointTls(origin, upstream)])

/** Tells whether the file gives an endpoint traffic. */
export const receivesTraffic = ({ weight, drain }: EndpointConfig): boolean => weight > 0 && !drain
