import type { Config } from '../config/config.ts'
import { networks } from '../shared/networks.ts'
import type { Live } from '../snapshot/live.ts'
import { type Routes, routes } from './admit.ts'
import type { IsTrusted } from './peer.ts'
import { hosts, type IsOurs } from './target.ts'

/** Is what the public listener reads of a configuration, compiled once for each. */
export interface Edge {
  readonly config: Config
  readonly routes: Routes
  readonly isTrusted: IsTrusted
  readonly isOurs: IsOurs
  /** Most requests on a connection. */
  readonly maxRequests: number
  /** The largest body that any operation takes. */
  readonly maxBodyBytes: number
  /** Longest time from an answer to the head of the next request. */
  readonly idleMs: number
  /** The lower-case name of the field that carries the request id, or null. */
  readonly idField: string | null
}

/** Compiles the public side of a configuration. */
const edgeOf = (config: Config): Edge => ({
  config,
  routes: routes(config.listen.basePath),
  isTrusted: networks(config.listen.trustedProxies),
  isOurs: hosts(config.listen),
  maxRequests: config.listen.maxRequestsPerConnection ?? Number.POSITIVE_INFINITY,
  maxBodyBytes: Math.max(...Object.values(config.operations).map((each) => each.maxBody ?? Number.POSITIVE_INFINITY)),
  // What Node allows for the wait and for the head, and how late it looks at most.
  idleMs: config.listen.timeouts.keepAlive + config.listen.timeouts.headers + 2000,
  idField: config.requestId.header?.toLowerCase() ?? null,
})

/** Finds the public side of the configuration that runs. */
export type CurrentEdge = () => Edge

/** Compiles anew when the configuration has changed, which one comparison a request tells. */
export const currentEdge = (live: Live): CurrentEdge => {
  let edge = edgeOf(live.current.config)
  return () => {
    const { config } = live.current
    if (edge.config !== config) edge = edgeOf(config)
    return edge
  }
}
