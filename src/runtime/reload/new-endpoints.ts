import type { Config, EndpointConfig, UpstreamConfig } from '../../config/config.ts'
import { type Group, groups } from '../../operations.ts'
import { getEndpointTls } from '../../upstream/endpoints/endpoint-registry.ts'

/** An endpoint that an edit gives traffic to. */
export interface NewEndpoint {
  readonly group: Group
  readonly endpoint: EndpointConfig
  readonly upstream: UpstreamConfig
}

/**
 * Lists the endpoints that get traffic from a configuration and got none from the running one, or were connected to in
 * another way.
 */
export const newEndpoints = (running: Config, next: Config): readonly NewEndpoint[] =>
  groups.flatMap((group) => {
    const known = new Set(listReceivingTraffic(running.upstreams[group], group).map(toConnectionKey))
    return listReceivingTraffic(next.upstreams[group], group).filter((each) => !known.has(toConnectionKey(each)))
  })

const listReceivingTraffic = (upstream: UpstreamConfig, group: Group): readonly NewEndpoint[] =>
  upstream.endpoints
    .filter((endpoint) => endpoint.origin !== 'sandbox' && receivesTraffic(endpoint))
    .map((endpoint) => ({ group, endpoint, upstream }))

const toConnectionKey = ({ endpoint: { origin }, upstream }: NewEndpoint): string =>
  JSON.stringify([origin, getEndpointTls(origin, upstream)])

/** Tells whether the file gives an endpoint traffic. */
export const receivesTraffic = ({ weight, drain }: EndpointConfig): boolean => weight > 0 && !drain
