import { createSecureContext, type SecureContextOptions, type Server } from 'node:tls'
import { isIP } from './addresses.ts'

/**
 * Each certificate of `ca` is a trust anchor (RFC 5280 §6 leaves the choice to policy). By default, an issuing CA alone
 * would admit none of the certificates that it issued, and with its root those of every other CA would be admitted too.
 */
export const trustAnchors = { allowPartialTrustChain: true } as const

/** `createServer` and `setSecureContext` of Node drop `allowPartialTrustChain`: call this after either. */
export const setTrustAnchors = (server: Server, options: SecureContextOptions): void => {
  const context = createSecureContext({ honorCipherOrder: true, ...options, ...trustAnchors })
  Object.assign(server, { _sharedCreds: context })
}

/** The root of DNS: the name means the same without it. */
export const withoutRootDot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name)

/** RFC 6066 §3: no trailing dot. Empty for an address: Node sends none, and verifies by the address. */
export const toServerName = (host: string): string => {
  const name = withoutRootDot(host.replace(/^\[|\]$/g, ''))
  return isIP(name) === 0 ? name : ''
}

/** Without these options `NODE_TLS_REJECT_UNAUTHORIZED` would decide. `host` is the URL's. */
export const verifiedTls = (host: string) =>
  ({ ...trustAnchors, rejectUnauthorized: true, servername: toServerName(host) }) as const
