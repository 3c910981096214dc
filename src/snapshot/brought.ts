import { type Group, groups } from '../catalog.ts'
import type { Config, EndpointConfig, UpstreamConfig } from '../config/config.ts'

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
    .filter(({ origin, weight, drain }) => origin !== 'sandbox' && weight > 0 && !drain)
    .map((endpoint) => ({ group, endpoint, upstream }))

/** Settings of TLS are no news to one that is spoken to without. */
const keyOf = ({ endpoint: { origin }, upstream: { tls } }: Brought): string =>
  JSON.stringify([origin, origin.startsWith('https:') ? tls : null])
