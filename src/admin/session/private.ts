import { isLoopback } from '../../config/reach.ts'

/** What is known of a connection: a socket of Node's has it. */
interface Connection {
  readonly encrypted?: boolean
  readonly localAddress?: string | undefined
  readonly remoteAddress?: string | undefined
}

/**
 * Says whether what a browser sends on a connection, a token and a cookie among it, stays unread on its way: TLS, or
 * loopback at both ends. The connection decides, not the address that the listener binds: `kubectl port-forward` and
 * `ssh -L` carry it over their own encrypted one, and open it on the loopback of the pod or machine. Both ends, because
 * a sidecar of a service mesh brings what came over the network from 127.0.0.6 to the address of the pod. Not handled:
 * a proxy on the same loopback that itself takes plain HTTP.
 */
export const isPrivate = ({ encrypted = false, localAddress, remoteAddress }: Connection): boolean =>
  encrypted || [localAddress, remoteAddress].every((address) => address !== undefined && isLoopback(address))
