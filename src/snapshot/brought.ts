import { type Group, groups } from '../catalog.ts'
import type { Config, EndpointConfig, UpstreamConfig } from '../config/config.ts'
import { tlsTo } from '../upstream/endpoints.ts'

/** Is an endpoint that an edit gives traffic to. */
export interface Brought {
  readonly group: Group
  readonly endpoint: EndpointConfig
  readonly upstream: UpstreamConfig
}

/** Lists the endpoints that get traffic from a configuration and got none from the running one, or were spoken to in another way. */
export const brought = (running: Config, next: Config): readonly Brought[] =>
  groups.flatMap((group) => {
    const known = new Set(takers(running.upstreams[group], group).map(keyOf))
    return takers(next.upstreams[group], group).filter((each) => !known.has(keyOf(each)))
  })

const takers = (upstream: UpstreamConfig, group: Group): readonly Brought[] =>
  upstream.endpoints
    .filter((endpoint) => endpoint.origin !== 'sandbox' && takesWork(endpoint))
    .map((endpoint) => ({ group, endpoint, upstream }))

const keyOf = ({ endpoint: { origin }, upstream }: Brought): string => JSON.stringify([origin, tlsTo(origin, upstream)])

/** Tells whether the file has an endpoint get requests. */
export const takesWork = ({ weight, drain }: EndpointConfig): boolean => weight > 0 && !drain
