import { isIPv6 } from 'node:net'

// RFC 3986 §3.2.2: a registered name (unreserved, sub-delims, percent-encoded) or an address in brackets, then an optional port. The
// comma is a sub-delim too, but two Host lines joined by a proxy look like that, so it is refused. Userinfo has no place here at all.
const name = /^(?:[A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})+(?::(\d{0,5}))?$/
const literal = /^\[([0-9A-Fa-f:.]+)\](?::(\d{0,5}))?$/

/** Tells whether a Host field or the authority of a target names a host that http can mean (not empty, RFC 9110 §4.2.1). */
export const isHost = (value: string): boolean => {
  const named = name.exec(value)
  if (named !== null) return isPort(named[1])
  const bracketed = literal.exec(value)
  return bracketed !== null && isIPv6(bracketed[1] ?? '') && isPort(bracketed[2])
}

const isPort = (digits: string | undefined): boolean => digits === undefined || Number(digits) <= 65535
