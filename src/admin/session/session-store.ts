import { hash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { now } from '../../clock.ts'
import type { AdminError } from '../admin-error.ts'
import { constantTimeEqual } from '../guard.ts'
import { type Html, html } from '../page/html.ts'

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

/** An operator on the pages: by a session, or all without one together. */
export class Principal {
  /**
   * The name of the session in logs and records: not the content of its cookie, and of no use to a reader. Null: no
   * session.
   */
  readonly session: string | null
  /**
   * The token in every form that is made for the operator. No other page knows it, so a form with it comes from here.
   */
  readonly csrfToken = randomBytes(32).toString('base64url')
  readonly #endsAt: number
  #message: string | null = null

  constructor(session: string | null, lifeMs: number) {
    this.session = session
    this.#endsAt = now() + lifeMs
  }

  /** Whether the session has expired. */
  get isExpired(): boolean {
    return now() >= this.#endsAt
  }

  /** Sets a message for the next page. */
  setFlash(message: string): void {
    this.#message = message
  }

  /** Takes the message, which is shown once; null: there is none. */
  takeFlash(): string | null {
    const message = this.#message
    this.#message = null
    return message
  }
}

const principals = new WeakMap<IncomingMessage, Principal>()

/** Notes the principal of a request. */
export const setPrincipal = (request: IncomingMessage, principal: Principal): void =>
  void principals.set(request, principal)

/** Gets the principal of a request. Throws where none was noted: that is a defect. */
export const getPrincipal = ({ raw }: { readonly raw: IncomingMessage }): Principal => {
  const principal = principals.get(raw)
  if (principal === undefined) throw new Error('the principal of this request was not noted')
  return principal
}

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

const csrfFieldName = 'formToken'

/** Renders the hidden field that makes a form count. */
export const csrfTokenField = ({ csrfToken }: Principal): Html =>
  html`<input type="hidden" name="${csrfFieldName}" value="${csrfToken}">`

/**
 * Parses a form. A form that was not made here for this principal is rejected: another page may have had the browser
 * send it.
 */
export const parseForm = (request: FastifyRequest): URLSearchParams | AdminError => {
  const fields = new URLSearchParams(typeof request.body === 'string' ? request.body : '')
  const [given, another] = fields.getAll(csrfFieldName)
  const isOurs = constantTimeEqual(given ?? '', getPrincipal(request).csrfToken) && another === undefined
  fields.delete(csrfFieldName)
  return isOurs ? fields : forgedForm
}

const forgedForm: AdminError = {
  status: 403,
  code: 'form-not-from-here',
  detail: 'this form was not made for your session, or its session is over: nothing was done; open the page again',
}

/** Renders the logout form; null: there is no session. */
export const logoutForm = (principal: Principal): Html | null =>
  principal.session === null
    ? null
    : html`<form method="post" action="/logout">${csrfTokenField(principal)}<button type="submit">Log out</button></form>`
