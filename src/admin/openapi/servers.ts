import type { ListenConfig } from '../../config/config.ts'
import type { PlainObject } from '../../plain-object.ts'

/** The servers of a document, and the prefix of its paths: together they make the URLs that clients write. */
interface DocumentServers {
  readonly servers: readonly PlainObject[]
  readonly pathPrefix: string
}

/**
 * Describes where clients reach the gateway, as far as the listener tells: by `publicUrl`, or else by each of `hosts`,
 * or else where the document came from. A `publicUrl` that does not end with `basePath` belongs to a proxy which
 * rewrites paths: what clients write is `publicUrl` and the path of the operation.
 */
export const describeServers = ({ publicUrl, basePath, hosts, tls, trustedProxies }: ListenConfig): DocumentServers => {
  if (publicUrl !== null) {
    const pathPrefix = new URL(publicUrl).pathname.endsWith(basePath) ? basePath : ''
    const url = publicUrl.slice(0, publicUrl.length - pathPrefix.length)
    return { servers: [{ url }], pathPrefix }
  }
  // Behind a proxy that is trusted, TLS may end there: without a scheme, the one of the document holds.
  const scheme = tls !== null ? 'https:' : trustedProxies.length === 0 ? 'http:' : ''
  const servers = hosts.length === 0 ? [{ url: '/' }] : hosts.map((host) => ({ url: `${scheme}//${host}` }))
  return { servers, pathPrefix: basePath }
}
