import { isIP } from 'node:net'

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
