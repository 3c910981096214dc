import { isIP } from 'node:net'
import { createSecureContext, type SecureContextOptions, type Server } from 'node:tls'

/**
 * Options of a TLS context in which each certificate of `ca` is a trust anchor, whether its own issuer stands beside it
 * or not. RFC 5280 §6 leaves to policy which CA is one. By itself OpenSSL goes on to a root: an issuing CA alone would
 * let in none of its own certificates, and its root in its place lets in those of every other CA below it.
 */
export const trustAnchors = { allowPartialTrustChain: true } as const

/**
 * Replaces the context of a server by one with {@link trustAnchors}. Node passes `allowPartialTrustChain` on neither in
 * `createServer` nor in `setSecureContext`, so this comes after either, with the same options.
 */
export const setTrustAnchors = (server: Server, options: SecureContextOptions): void => {
  const context = createSecureContext({ honorCipherOrder: true, ...options, ...trustAnchors })
  Object.assign(server, { _sharedCreds: context })
}

/** Returns a host name without the dot at its end: it stands for the root of DNS, and changes nothing. */
export const withoutRootDot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name)

/**
 * Returns the name that a TLS client asks a host of a URL for (SNI), and that its certificate is verified by. RFC 6066
 * §3: it has no dot at its end, and no address is asked for. For an address it is empty: Node sends none, and verifies
 * by the address.
 */
export const toServerName = (host: string): string => {
  const name = withoutRootDot(host.replace(/^\[|\]$/g, ''))
  return isIP(name) === 0 ? name : ''
}

/**
 * Returns options of a TLS client that verifies its server: without them `NODE_TLS_REJECT_UNAUTHORIZED` would decide.
 * `host` is that of the URL.
 */
export const verifiedTls = (host: string) =>
  ({ ...trustAnchors, rejectUnauthorized: true, servername: toServerName(host) }) as const
