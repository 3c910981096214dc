import { isIP } from 'node:net'
import { createSecureContext, type SecureContextOptions, type Server } from 'node:tls'

/**
 * Each certificate of `ca` is a trust anchor, even without its issuer: RFC 5280 §6 leaves the choice of anchors to
 * policy. By default OpenSSL goes up to a root: an issuing CA alone would let in none of its own certificates, and its
 * root those of every other CA below it.
 */
export const trustAnchors = { allowPartialTrustChain: true } as const

/**
 * Adds {@link trustAnchors} to a server. Node passes `allowPartialTrustChain` on neither in `createServer` nor in
 * `setSecureContext`, so call this after either, with the same options.
 */
export const setTrustAnchors = (server: Server, options: SecureContextOptions): void => {
  const context = createSecureContext({ honorCipherOrder: true, ...options, ...trustAnchors })
  Object.assign(server, { _sharedCreds: context })
}

/** Drops the dot at the end, which stands for the root of DNS and changes nothing. */
export const withoutRootDot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name)

/**
 * Returns the name for SNI, by which the certificate is verified. RFC 6066 §3: no trailing dot, no address. For an
 * address it is empty: Node sends none, and verifies by the address.
 */
export const toServerName = (host: string): string => {
  const name = withoutRootDot(host.replace(/^\[|\]$/g, ''))
  return isIP(name) === 0 ? name : ''
}

/** Verifies the server: without these options `NODE_TLS_REJECT_UNAUTHORIZED` would decide. `host` is the URL's. */
export const verifiedTls = (host: string) =>
  ({ ...trustAnchors, rejectUnauthorized: true, servername: toServerName(host) }) as const
