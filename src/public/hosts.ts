import type { ListenConfig } from '../config/config.ts'

/** Tells whether an authority is one that clients may ask this gateway for. `secure`: it came over TLS. */
export type IsOurs = (authority: string, secure: boolean) => boolean

/** Takes every name for its own. */
export const anyHost: IsOurs = () => true

/**
 * Compiles the names that clients may ask for; none: all of them. A name without a port goes with every port; with one, only with that,
 * which a client leaves out when it is the scheme's own. A dot at the end of a name is the root of DNS, and changes nothing.
 */
export const hosts = ({ hosts: names }: Pick<ListenConfig, 'hosts'>): IsOurs => {
  if (names.length === 0) return anyHost
  const known = new Set(names.map((name) => name.replace(/\.(?=:|$)/, '')))
  return (authority, secure) => {
    const [, host = '', port = ''] = /^(.*?)\.?(?::(\d*))?$/.exec(authority.toLowerCase()) ?? []
    return known.has(host) || known.has(`${host}:${port === '' ? (secure ? 443 : 80) : Number(port)}`)
  }
}
