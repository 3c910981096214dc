import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { AdminConfig } from '../config/config.ts'
import type { Refusal } from './problem.ts'

/** Is what is known of a request before it is let in. */
interface Asked {
  readonly method?: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Whether who asks has logged in. */
  readonly hasSession?: boolean
}

// Probes know neither a token nor a name: a kubelet sends an address as Host, HAProxy none. They say yes or no and nothing else.
const probes: ReadonlySet<string> = new Set(['/live', '/ready'])

/** Lets a request to the operator's listener in (null), or says why not. */
export const guard = ({ method, path, headers, hasSession = false }: Asked, admin: AdminConfig): Refusal | null => {
  if (probes.has(path)) return null
  if (!isOurs(headers.host, admin)) return misdirected(headers.host)
  if (isForeignPage(headers)) return foreign
  if (admin.token === null || isOpen(method, path) || carries(headers.authorization, admin.token)) return null
  if (path === '/metrics' && admin.metricsToken !== null && carries(headers.authorization, admin.metricsToken))
    return null
  return hasSession && mayBySession(method, path) ? null : unauthenticated
}

/**
 * Tells whether a Host can only have been meant for this listener. A web page can have its own name resolve to this machine (DNS
 * rebinding) and then read answers as its own; an address, `localhost` or a configured name it cannot have.
 */
const isOurs = (host: string | undefined, { host: bound, hosts }: AdminConfig): boolean => {
  if (host === undefined) return false
  const [, name = ''] = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/.exec(host.toLowerCase()) ?? []
  const bare = name.replace(/^\[|\]$/g, '')
  return isIP(bare) !== 0 || bare === 'localhost' || bare === bound || hosts.includes(bare)
}

/** Tells whether a browser sends this for a page from elsewhere: Host is then ours, and a form needs no leave to POST. */
const isForeignPage = ({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean => {
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') return true
  return origin !== undefined && URL.parse(origin)?.host !== host?.toLowerCase()
}

const carries = (authorization: string | undefined, token: string): boolean => {
  const [, given] = /^Bearer +([^ ]+) *$/i.exec(authorization ?? '') ?? []
  return isSame(given ?? '', token) && given !== undefined
}

const misdirected = (host: string | undefined): Refusal => ({
  status: 421,
  code: 'misdirected',
  detail:
    host === undefined
      ? 'a Host is expected: an address, localhost, admin.host, or one of admin.hosts'
      : 'this Host is none of the gateway’s: use an address or localhost, or add the name to admin.hosts',
})

const foreign: Refusal = {
  status: 403,
  code: 'foreign-page',
  detail: 'a web page of another origin may not use the operator’s listener',
}

const unauthenticated: Refusal = {
  status: 401,
  code: 'unauthenticated',
  detail: 'send admin.token as Authorization: Bearer …',
  fields: { 'WWW-Authenticate': 'Bearer' },
}

// What a session may read. All else is left out on purpose: a cookie goes along with whatever a browser sends here,
// so what it alone lets in changes nothing.
const readable: ReadonlySet<string> = new Set([
  '/',
  '/events',
  '/overview',
  '/refused',
  '/status',
  '/config',
  '/metrics',
])

/** Tells whether a path is a page of actions, which also take a form with its token. */
export const isAction = (path: string): boolean => path.startsWith('/actions/')

/** Tells whether a session is enough for a request: to read, and to send the forms of the pages, which are believed with their token only. */
const mayBySession = (method: string | undefined, path: string): boolean => {
  if (isReading(method)) return readable.has(path) || isAction(path)
  return method === 'POST' && (path === '/logout' || isAction(path))
}

/** Tells whether a request asks for nothing but what everybody may have: the form that one logs in by, and how pages look. */
const isOpen = (method: string | undefined, path: string): boolean =>
  path === '/login' || (isReading(method) && path.startsWith('/assets/'))

const isReading = (method: string | undefined): boolean => method === 'GET' || method === 'HEAD'

/** Tells whether two secrets are the same. It compares digests, whose lengths are equal: neither the time nor the length of the comparison tells of them. */
export const isSame = (given: string, secret: string): boolean => timingSafeEqual(digest(given), digest(secret))

const digest = (text: string): Buffer => hash('sha256', text, 'buffer')
