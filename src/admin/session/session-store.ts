import { hash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Principal } from './principal.ts'

/**
 * The lifetime of a session, whatever is done in it: a page that is left open keeps itself up to date, and would never
 * be idle.
 */
export const sessionTtlMs = 30 * 60_000

// Operators are few, and a client that knows the token must not fill the memory either.
const maxSessions = 64

/** Keeps the sessions of operators in the memory of this process. Of a cookie's content it knows the digest only. */
export class SessionStore {
  /** The principal of all requests without a session. */
  readonly #anonymous = new Principal(null, Number.POSITIVE_INFINITY)
  /** By the digest of the id; the oldest first. */
  readonly #sessions = new Map<string, Principal>()
  /** The digest of the token that the sessions were opened with. */
  #token: string | null = null

  /** Finds the principal of a request. */
  find(headers: IncomingHttpHeaders, token: string | null): Principal {
    this.syncToken(token)
    const id = parseSessionCookie(headers)
    return (id === null ? undefined : this.#findValid(digest(id))) ?? this.#anonymous
  }

  /**
   * Opens a session for a client that has shown the token. The id is made here, never taken over, and known only to
   * that client.
   */
  open(token: string): { readonly id: string; readonly principal: Principal } {
    this.syncToken(token)
    const id = randomBytes(32).toString('base64url')
    const principal = new Principal(randomBytes(4).toString('hex'), sessionTtlMs)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size >= maxSessions && oldest !== undefined) this.#sessions.delete(oldest)
    this.#sessions.set(digest(id), principal)
    return { id, principal }
  }

  /** Ends a session. */
  end(principal: Principal): void {
    for (const [id, each] of this.#sessions) if (each === principal) this.#sessions.delete(id)
  }

  /** Ends the sessions that were opened with another token. */
  syncToken(token: string | null): void {
    const next = token === null ? null : digest(token)
    if (next !== this.#token) this.#sessions.clear()
    this.#token = next
  }

  #findValid(id: string): Principal | undefined {
    const principal = this.#sessions.get(id)
    if (principal?.isExpired !== true) return principal
    this.#sessions.delete(id)
    return undefined
  }
}

const digest = (text: string): string => hash('sha256', text)

/**
 * Parses the session's id from a request; null: there is none. Two cookies of the name count as none: a browser has one
 * at most, since `__Host-` keeps every other host from setting it.
 */
export const parseSessionCookie = (headers: IncomingHttpHeaders): string | null => {
  const start = `${cookieName(headers)}=`
  const [pair, another] = (headers.cookie ?? '').split(/; */).filter((each) => each.startsWith(start))
  if (pair === undefined || another !== undefined) return null
  return pair.slice(start.length)
}

/**
 * Formats the cookie that holds a session. A browser keeps it from scripts, from other sites, and from connections that
 * others can read.
 */
export const formatSessionCookie = (headers: IncomingHttpHeaders, id: string, lifeMs: number): string =>
  `${cookieName(headers)}=${id}; Path=/; Max-Age=${lifeMs / 1000}; Secure; HttpOnly; SameSite=Strict`

/** Formats the cookie that makes a browser forget the session. */
export const clearSessionCookie = (headers: IncomingHttpHeaders): string => formatSessionCookie(headers, '', 0)

/**
 * Names the cookie. A browser sends a host's cookies to all of its ports, so the port as the browser knows it is part
 * of the name: several gateways reached at localhost, by a tunnel each, would otherwise take each other's session away.
 */
const cookieName = ({ host = '' }: IncomingHttpHeaders): string => {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? []
  return `__Host-lender-gateway${port === undefined ? '' : `-${port}`}`
}
