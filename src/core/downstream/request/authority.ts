import { isIPv6 } from 'node:net'
import type { ListenConfig } from '../../config/config.ts'

/** Returns whether clients may ask this gateway for an authority. `secure`: the client speaks TLS. */
export type AuthorityMatcher = (authority: string, secure: boolean) => boolean

export const matchAnyAuthority: AuthorityMatcher = () => true

/**
 * Compiles the names that clients may ask for; none: all of them. A name without a port matches every port. A name with
 * a port matches that one, which a client leaves out when it is the scheme's own. A dot at the end of a name is the
 * root of DNS, and changes nothing.
 */
export const compileAuthorityMatcher = ({ hosts: names }: Pick<ListenConfig, 'hosts'>): AuthorityMatcher => {
  if (names.length === 0) return matchAnyAuthority
  const known = new Set(names.map((name) => name.replace(/\.(?=:|$)/, '')))
  return (authority, secure) => {
    const [, host = '', port = ''] = /^(.*?)\.?(?::(\d*))?$/.exec(authority.toLowerCase()) ?? []
    return known.has(host) || known.has(`${host}:${port === '' ? (secure ? 443 : 80) : Number(port)}`)
  }
}

// RFC 3986 §3.2.2: a registered name (unreserved, sub-delims, percent-encoded) or an address in brackets, then an
// optional port. The comma is a sub-delim too, but two Host lines joined by a proxy look like that, so it is rejected.
// Userinfo has no place here at all.
const registeredNamePattern = /^(?:[A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})+(?::(\d{0,5}))?$/
const ipLiteralPattern = /^\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?$/

/**
 * Returns whether a Host field, or the authority of a target, names a host that http can mean (not empty, RFC 9110
 * §4.2.1).
 */
export const isValidHost = (value: string): boolean => {
  const named = registeredNamePattern.exec(value)
  if (named !== null) return isValidPort(named[1])
  const bracketed = ipLiteralPattern.exec(value)
  return bracketed !== null && isIPv6(bracketed[1] ?? '') && isValidPort(bracketed[2])
}

const isValidPort = (digits: string | undefined): boolean => digits === undefined || Number(digits) <= 65535
