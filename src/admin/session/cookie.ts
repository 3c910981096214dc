import type { IncomingHttpHeaders } from 'node:http'

/**
 * Takes the session's id from a request; null: there is none. Two of the name are none: a browser has one at most, since `__Host-` keeps
 * everybody but this host from setting it.
 */
export const cookieOf = (headers: IncomingHttpHeaders): string | null => {
  const start = `${nameFor(headers)}=`
  const [pair, another] = (headers.cookie ?? '').split(/; */).filter((each) => each.startsWith(start))
  if (pair === undefined || another !== undefined) return null
  return pair.slice(start.length)
}

/** Writes the cookie that a session is held by. A browser keeps it from scripts, from other sites, and from connections that others can read. */
export const cookieFor = (headers: IncomingHttpHeaders, id: string, lifeMs: number): string =>
  `${nameFor(headers)}=${id}; Path=/; Max-Age=${lifeMs / 1000}; Secure; HttpOnly; SameSite=Strict`

/** Writes what has a browser forget it. */
export const noCookieFor = (headers: IncomingHttpHeaders): string => cookieFor(headers, '', 0)

/**
 * Names the cookie. A browser gives cookies of a host to all of its ports, so the port is part of the name, as the browser knows it: several
 * gateways that one reaches at localhost, by a tunnel each, would otherwise take each other's session away.
 */
const nameFor = ({ host = '' }: IncomingHttpHeaders): string => {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? []
  return `__Host-lender-gateway${port === undefined ? '' : `-${port}`}`
}
