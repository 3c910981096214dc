import { hash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { now } from '../../clock.ts'
import type { AdminError } from '../admin-error.ts'
import { constantTimeEqual } from '../guard.ts'
import { type Html, html } from '../page/html.ts'

/** How long a session lasts, whatever is done in it: a page that is left open keeps itself up to date, and would never be idle. */
export const sessionTtlMs = 30 * 60_000

// Operators are few; whoever knows the token must not fill the memory either.
const maxSessions = 64

/** Keeps who has logged in, in the memory of this process. Of what a cookie holds it knows the digest only. */
export class SessionStore {
  /** All who need no session, or have none. */
  readonly #anonymous = new Principal(null, Number.POSITIVE_INFINITY)
  /** By the digest of the id; the oldest first. */
  readonly #sessions = new Map<string, Principal>()
  /** The digest of the token that they were opened with. */
  #token: string | null = null

  /** Tells who sends a request. */
  find(headers: IncomingHttpHeaders, token: string | null): Principal {
    this.syncToken(token)
    const id = parseSessionCookie(headers)
    return (id === null ? undefined : this.#findValid(digest(id))) ?? this.#anonymous
  }

  /** Opens a session for whoever has shown the token; the id is made here, never taken over, and known to nobody else. */
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

  /** Ends what was opened with another token. */
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

/** Is whoever visits the pages: by a session, or all who need none together. */
export class Principal {
  /** Names the session in the log and in records: not what its cookie holds, and of no use to anybody. Null: there is none. */
  readonly session: string | null
  /** Stands in every form that is made for the visitor: no other page knows it, so a form with it comes from here. */
  readonly csrfToken = randomBytes(32).toString('base64url')
  readonly #endsAt: number
  #message: string | null = null

  constructor(session: string | null, lifeMs: number) {
    this.session = session
    this.#endsAt = now() + lifeMs
  }

  /** Tells whether the session has come to its end by itself. */
  get isExpired(): boolean {
    return now() >= this.#endsAt
  }

  /** Notes what was done, to be shown on the next page. */
  setFlash(message: string): void {
    this.#message = message
  }

  /** Takes what was noted, which is shown once; null: nothing was. */
  takeFlash(): string | null {
    const message = this.#message
    this.#message = null
    return message
  }
}

const principals = new WeakMap<IncomingMessage, Principal>()

/** Notes who sends a request. */
export const setPrincipal = (request: IncomingMessage, principal: Principal): void =>
  void principals.set(request, principal)

/** Tells who sends a request. Throws for one that nobody was noted for: that is a defect. */
export const getPrincipal = ({ raw }: { readonly raw: IncomingMessage }): Principal => {
  const principal = principals.get(raw)
  if (principal === undefined) throw new Error('nobody knows who sends this request')
  return principal
}

/**
 * Takes the session's id from a request; null: there is none. Two of the name are none: a browser has one at most, since `__Host-` keeps
 * everybody but this host from setting it.
 */
export const parseSessionCookie = (headers: IncomingHttpHeaders): string | null => {
  const start = `${cookieName(headers)}=`
  const [pair, another] = (headers.cookie ?? '').split(/; */).filter((each) => each.startsWith(start))
  if (pair === undefined || another !== undefined) return null
  return pair.slice(start.length)
}

/** Writes the cookie that a session is held by. A browser keeps it from scripts, from other sites, and from connections that others can read. */
export const formatSessionCookie = (headers: IncomingHttpHeaders, id: string, lifeMs: number): string =>
  `${cookieName(headers)}=${id}; Path=/; Max-Age=${lifeMs / 1000}; Secure; HttpOnly; SameSite=Strict`

/** Writes what has a browser forget it. */
export const clearSessionCookie = (headers: IncomingHttpHeaders): string => formatSessionCookie(headers, '', 0)

/**
 * Names the cookie. A browser gives cookies of a host to all of its ports, so the port is part of the name, as the browser knows it: several
 * gateways that one reaches at localhost, by a tunnel each, would otherwise take each other's session away.
 */
const cookieName = ({ host = '' }: IncomingHttpHeaders): string => {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? []
  return `__Host-lender-gateway${port === undefined ? '' : `-${port}`}`
}

const csrfFieldName = 'formToken'

/** Writes what every form holds, so that it is believed. */
export const csrfTokenField = ({ csrfToken }: Principal): Html =>
  html`<input type="hidden" name="${csrfFieldName}" value="${csrfToken}">`

/** Takes what a form says. One that was not made here for who sends it is refused: another page may have had the browser send it. */
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

/** Shows how to end the session; null: there is none. */
export const logoutForm = (principal: Principal): Html | null =>
  principal.session === null
    ? null
    : html`<form method="post" action="/logout">${csrfTokenField(principal)}<button type="submit">Log out</button></form>`
