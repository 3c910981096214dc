import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { AdminConfig } from '../config/config.ts'
import type { AdminError } from './admin-error.ts'

/** What is known of a request before it is let in. */
interface GuardedRequest {
  readonly method?: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Whether the request belongs to a session. */
  readonly hasSession?: boolean
}

// Probes know neither a token nor a name: a kubelet sends an address as Host, HAProxy none. They get yes or no and
// nothing else.
const probePaths: ReadonlySet<string> = new Set(['/live', '/ready'])

/** Checks a request to the operator's listener. Null: it is let in. */
export const guardRequest = (
  { method, path, headers, hasSession = false }: GuardedRequest,
  admin: AdminConfig,
): AdminError | null => {
  if (probePaths.has(path)) return null
  if (!isOwnHost(headers.host, admin)) return misdirected(headers.host)
  if (isCrossOrigin(headers)) return crossOrigin
  if (admin.token === null || isPublicPath(method, path) || hasBearerToken(headers.authorization, admin.token))
    return null
  if (path === '/metrics' && admin.metricsToken !== null && hasBearerToken(headers.authorization, admin.metricsToken))
    return null
  return hasSession && sessionMay(method, path) ? null : unauthenticated
}

/**
 * Checks whether a Host can only have been meant for this listener. A web page can have its own name resolve to this
 * machine (DNS rebinding), and then read responses as its own; it cannot have an address, `localhost` or a configured
 * name.
 */
const isOwnHost = (host: string | undefined, { host: configuredHost, hosts }: AdminConfig): boolean => {
  if (host === undefined) return false
  const [, name = ''] = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/.exec(host.toLowerCase()) ?? []
  const bare = name.replace(/^\[|\]$/g, '')
  return isIP(bare) !== 0 || bare === 'localhost' || bare === configuredHost || hosts.includes(bare)
}

/**
 * Checks whether a browser sends this for a page of another origin: Host is then right, and a form may POST without
 * CORS.
 */
const isCrossOrigin = ({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean => {
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') return true
  return origin !== undefined && URL.parse(origin)?.host !== host?.toLowerCase()
}

const hasBearerToken = (authorization: string | undefined, token: string): boolean => {
  const [, given] = /^Bearer +([^ ]+) *$/i.exec(authorization ?? '') ?? []
  return constantTimeEqual(given ?? '', token) && given !== undefined
}

const misdirected = (host: string | undefined): AdminError => ({
  status: 421,
  code: 'misdirected',
  detail:
    host === undefined
      ? 'a Host is expected: an address, localhost, admin.host, or one of admin.hosts'
      : 'this Host is none of the gateway’s: use an address or localhost, or add the name to admin.hosts',
})

const crossOrigin: AdminError = {
  status: 403,
  code: 'foreign-page',
  detail: 'a web page of another origin may not use the operator’s listener',
}

const unauthenticated: AdminError = {
  status: 401,
  code: 'unauthenticated',
  detail: 'send admin.token as Authorization: Bearer …',
  headers: { 'WWW-Authenticate': 'Bearer' },
}

// What a session may read. All else is left out on purpose: a cookie goes along with whatever a browser sends here, so
// what it alone lets in changes nothing.
const readablePaths: ReadonlySet<string> = new Set([
  '/',
  '/events',
  '/contract',
  '/contract/draft',
  '/overview',
  '/refused',
  '/shadow',
  '/status',
  '/config',
  '/metrics',
])

/** Checks whether a path is a page of actions, which also takes a form with its token. */
export const isActionPath = (path: string): boolean => path.startsWith('/actions/')

/**
 * Checks whether a session is enough for a request: to read, and to send the forms of the pages, which count only with
 * their token.
 */
const sessionMay = (method: string | undefined, path: string): boolean => {
  if (isReadMethod(method)) return readablePaths.has(path) || isActionPath(path)
  return method === 'POST' && (path === '/logout' || isActionPath(path))
}

/** Checks whether a request needs no credential: the login form, and the assets of the pages. */
const isPublicPath = (method: string | undefined, path: string): boolean =>
  path === '/login' || (isReadMethod(method) && path.startsWith('/assets/'))

const isReadMethod = (method: string | undefined): boolean => method === 'GET' || method === 'HEAD'

/**
 * Compares two secrets. It compares digests of equal length: neither the time nor the length of the comparison reveals
 * anything.
 */
export const constantTimeEqual = (given: string, secret: string): boolean =>
  timingSafeEqual(digest(given), digest(secret))

const digest = (text: string): Buffer => hash('sha256', text, 'buffer')
