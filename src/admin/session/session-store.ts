import { hash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { AdminConfig } from '../../config/config.ts'
import { isSameOperator, type Operator } from '../access/operator.ts'
import { listOperatorTokens, type OperatorToken } from '../access/operator-tokens.ts'
import { Principal } from './principal.ts'

/**
 * The lifetime of a session, whatever is done in it: a page that is left open keeps itself up to date, and would never
 * be idle.
 */
export const sessionTtlMs = 30 * 60_000

// Operators are few, and a client that knows a token must not fill the memory either.
const maxSessions = 64

/** A session, and the token that it was opened with. */
interface Session {
  readonly principal: Principal
  readonly token: OperatorToken
}

/** Keeps the sessions of operators in the memory of this process. Of a cookie's content it knows the digest only. */
export class SessionStore {
  /** By the digest of the id; the oldest first. */
  readonly #sessions = new Map<string, Session>()
  /** The principals of requests without a session, by operator; the oldest first. */
  readonly #withoutSession = new Map<string, Principal>()
  /** The configuration that the sessions were last compared with. */
  #admin: AdminConfig | null = null

  /** Finds the principal of a session; null: the request has none that goes on. */
  find(headers: IncomingHttpHeaders, admin: AdminConfig): Principal | null {
    this.sync(admin)
    const id = parseSessionCookie(headers)
    return id === null ? null : this.#findValid(digest(id))
  }

  /** Returns the principal of all requests of an operator without a session; null: of unknown clients. */
  withoutSession(operator: Operator | null): Principal {
    const key = operator === null ? '' : `${operator.proof} ${operator.scope} ${operator.name}`
    const cached = this.#withoutSession.get(key)
    if (cached !== undefined) return cached
    const principal = new Principal(operator, null, Number.POSITIVE_INFINITY)
    dropOldest(this.#withoutSession)
    this.#withoutSession.set(key, principal)
    return principal
  }

  /**
   * Opens a session for a client that has shown a token. The id is made here, never taken over, and known only to that
   * client.
   */
  open(token: OperatorToken): { readonly id: string; readonly principal: Principal } {
    const id = randomBytes(32).toString('base64url')
    const principal = new Principal(token.operator, randomBytes(4).toString('hex'), sessionTtlMs)
    dropOldest(this.#sessions)
    this.#sessions.set(digest(id), { principal, token })
    return { id, principal }
  }

  /** Ends a session. */
  end(principal: Principal): void {
    for (const [id, each] of this.#sessions) if (each.principal === principal) this.#sessions.delete(id)
  }

  /**
   * Ends the sessions whose token a configuration has no longer, or gives to another operator or for another scope.
   * They do not come back with it.
   */
  sync(admin: AdminConfig): void {
    if (admin === this.#admin) return
    this.#admin = admin
    const current = listOperatorTokens(admin)
    for (const [id, { token }] of this.#sessions) {
      const goesOn = current.some(
        ({ operator, digest }) => digest.equals(token.digest) && isSameOperator(operator, token.operator),
      )
      if (!goesOn) this.#sessions.delete(id)
    }
  }

  #findValid(id: string): Principal | null {
    const principal = this.#sessions.get(id)?.principal
    if (principal?.isExpired !== true) return principal ?? null
    this.#sessions.delete(id)
    return null
  }
}

/** Makes room for another entry: the oldest goes. */
const dropOldest = (entries: Map<string, unknown>): void => {
  const [oldest] = entries.keys()
  if (entries.size >= maxSessions && oldest !== undefined) entries.delete(oldest)
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
