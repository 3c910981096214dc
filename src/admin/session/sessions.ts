import { hash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { now } from '../../clock.ts'
import { isSame } from '../guard.ts'
import { type Html, html } from '../page/html.ts'
import type { Refusal } from '../problem.ts'

/** How long a session lasts, whatever is done in it: a page that is left open keeps itself up to date, and would never be idle. */
export const sessionMs = 30 * 60_000

// Operators are few; whoever knows the token must not fill the memory either.
const mostSessions = 64

/** Keeps who has logged in, in the memory of this process. Of what a cookie holds it knows the digest only. */
export class Sessions {
  /** All who need no session, or have none. */
  readonly #anyone = new Visitor(null, Number.POSITIVE_INFINITY)
  /** By the digest of the id; the oldest first. */
  readonly #open = new Map<string, Visitor>()
  /** The digest of the token that they were opened with. */
  #token: string | null = null

  /** Tells who sends a request. */
  of(headers: IncomingHttpHeaders, token: string | null): Visitor {
    this.follow(token)
    const id = cookieOf(headers)
    return (id === null ? undefined : this.#valid(digest(id))) ?? this.#anyone
  }

  /** Opens a session for whoever has shown the token; the id is made here, never taken over, and known to nobody else. */
  open(token: string): { readonly id: string; readonly visitor: Visitor } {
    this.follow(token)
    const id = randomBytes(32).toString('base64url')
    const visitor = new Visitor(randomBytes(4).toString('hex'), sessionMs)
    const [oldest] = this.#open.keys()
    if (this.#open.size >= mostSessions && oldest !== undefined) this.#open.delete(oldest)
    this.#open.set(digest(id), visitor)
    return { id, visitor }
  }

  /** Ends a session. */
  end(visitor: Visitor): void {
    for (const [id, each] of this.#open) if (each === visitor) this.#open.delete(id)
  }

  /** Ends what was opened with another token. */
  follow(token: string | null): void {
    const next = token === null ? null : digest(token)
    if (next !== this.#token) this.#open.clear()
    this.#token = next
  }

  #valid(id: string): Visitor | undefined {
    const visitor = this.#open.get(id)
    if (visitor?.isOver !== true) return visitor
    this.#open.delete(id)
    return undefined
  }
}

const digest = (text: string): string => hash('sha256', text)

/** Is whoever visits the pages: by a session, or all who need none together. */
export class Visitor {
  /** Names the session in the log and in records: not what its cookie holds, and of no use to anybody. Null: there is none. */
  readonly session: string | null
  /** Stands in every form that is made for the visitor: no other page knows it, so a form with it comes from here. */
  readonly formToken = randomBytes(32).toString('base64url')
  readonly #endsAt: number
  #message: string | null = null

  constructor(session: string | null, lifeMs: number) {
    this.session = session
    this.#endsAt = now() + lifeMs
  }

  /** Tells whether the session has come to its end by itself. */
  get isOver(): boolean {
    return now() >= this.#endsAt
  }

  /** Notes what was done, to be shown on the next page. */
  note(message: string): void {
    this.#message = message
  }

  /** Takes what was noted, which is shown once; null: nothing was. */
  noted(): string | null {
    const message = this.#message
    this.#message = null
    return message
  }
}

const visitors = new WeakMap<IncomingMessage, Visitor>()

/** Notes who sends a request. */
export const isFrom = (request: IncomingMessage, visitor: Visitor): void => void visitors.set(request, visitor)

/** Tells who sends a request. Throws for one that nobody was noted for: that is a defect. */
export const visitorOf = ({ raw }: { readonly raw: IncomingMessage }): Visitor => {
  const visitor = visitors.get(raw)
  if (visitor === undefined) throw new Error('nobody knows who sends this request')
  return visitor
}

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

const name = 'formToken'

/** Writes what every form holds, so that it is believed. */
export const formTokenField = ({ formToken }: Visitor): Html =>
  html`<input type="hidden" name="${name}" value="${formToken}">`

/** Takes what a form says. One that was not made here for who sends it is refused: another page may have had the browser send it. */
export const formOf = (request: FastifyRequest): URLSearchParams | Refusal => {
  const fields = new URLSearchParams(typeof request.body === 'string' ? request.body : '')
  const [given, another] = fields.getAll(name)
  const isOurs = isSame(given ?? '', visitorOf(request).formToken) && another === undefined
  fields.delete(name)
  return isOurs ? fields : forged
}

const forged: Refusal = {
  status: 403,
  code: 'form-not-from-here',
  detail: 'this form was not made for your session, or its session is over: nothing was done; open the page again',
}

/** Shows how to end the session; null: there is none. */
export const logoutForm = (visitor: Visitor): Html | null =>
  visitor.session === null
    ? null
    : html`<form method="post" action="/logout">${formTokenField(visitor)}<button type="submit">Log out</button></form>`
