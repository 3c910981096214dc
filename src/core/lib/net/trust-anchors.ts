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
