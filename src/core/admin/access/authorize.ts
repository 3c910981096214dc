import type { IncomingHttpHeaders } from 'node:http'
import type { AdminConfig } from '../../config/config.ts'
import { insertBeside } from '../../lib/beside.ts'
import { isIP } from '../../lib/net/addresses.ts'
import { includesScope, type OperatorScope } from '../../lib/operators.ts'
import type { AdminError } from '../admin-error.ts'
import type { AdminReport, RouteScope } from '../admin-part.ts'
import { adminParts } from '../admin-parts.ts'
import { getRecentErrors } from '../api/recent-errors.ts'
import { getStatus } from '../api/status.ts'
import { commandGroups } from '../commands/command-groups.ts'
import type { Operator } from './operator-tokens.ts'
import type { Principal } from './principal.ts'

/** An unknown route needs `operate` and a bearer token: deny by default. */
const findRouteScope = (method: string, path: string): Pick<RouteScope, 'scope' | 'bySession'> =>
  findRoute(method === 'HEAD' ? 'GET' : method, path) ?? unknown

const read = (path: string, scope: RouteScope['scope'] = 'read'): RouteScope => ({
  method: 'GET',
  path,
  scope,
  bySession: true,
})

export const reports = insertBeside<
  'status' | 'rejected' | 'config',
  Pick<AdminReport, 'path' | 'respond' | 'respondText'>
>(
  {
    status: {
      path: '/status',
      respond: getStatus,
      respondText: async (context) => (await import('../api/status-text.ts')).getStatusText(context),
    },
    rejected: { path: '/rejected', respond: getRecentErrors },
    config: { path: '/config', respond: async ({ reloader }) => reloader.running.report },
  },
  adminParts.flatMap(({ reports = [] }) => reports.map((each) => ({ ...each, value: each }))),
)

export const routeScopes: readonly RouteScope[] = [
  read('/live', 'none'),
  read('/ready', 'none'),
  read('/metrics', 'metrics'),
  read('/whoami', 'metrics'),
  ...reports.map(({ path }) => read(path)),
  ...commandGroups.flatMap(({ commands }) =>
    commands.map(({ method, path }): RouteScope => ({ method, path, scope: 'operate', bySession: false })),
  ),
  ...adminParts.flatMap((part) => part.pageRoutes?.(commandGroups) ?? []),
]

const routes = new Map(routeScopes.map((route) => [`${route.method} ${route.path}`, route]))

const findRoute = (method: string, path: string): RouteScope | undefined =>
  routes.get(`${method} ${path}`) ?? routes.get(`${method} ${path.replace(/^(\/[^/]+\/).*/s, '$1*')}`)

const unknown = { scope: 'operate', bySession: false } as const

// Probes send no token (a kubelet sends an address as Host, HAProxy no Host), and learn only yes or no.
const probePaths: ReadonlySet<string> = new Set(['/live', '/ready'])

export const authorizeRequest = (
  { method, path, headers }: { method: string; path: string; headers: IncomingHttpHeaders },
  { operator, session }: Pick<Principal, 'operator' | 'session'>,
  admin: AdminConfig,
  takesTokens: boolean,
): AdminError | null => {
  const { scope, bySession } = findRouteScope(method, path)
  if (scope === 'none' && probePaths.has(path)) return null
  if (!isOwnHost(headers.host, admin)) return misdirected(headers.host)
  if (isCrossOrigin(headers)) return crossOrigin
  if (scope === 'none') return null
  if (operator === null) return takesTokens ? unauthenticated : withoutCertificate
  if (!includesScope(operator.scope, scope)) return insufficientScope(operator, scope, method)
  // CSRF: a browser sends a certificate with requests of any site, like a cookie. It authorizes no command alone.
  const isAmbient = session !== null || (operator.proof === 'certificate' && isFromBrowser(headers))
  if (!isAmbient || bySession) return null
  return takesTokens ? unauthenticated : ambientCertificate
}

const isFromBrowser = ({ origin, 'sec-fetch-site': site, cookie }: IncomingHttpHeaders): boolean =>
  origin !== undefined || site !== undefined || cookie !== undefined

/**
 * DNS rebinding: a page of an attacker's domain that resolves to this machine could read responses. Its Host is never
 * an address, `localhost` or a configured name.
 */
const isOwnHost = (host: string | undefined, { host: configuredHost, hosts }: AdminConfig): boolean => {
  if (host === undefined) return false
  const [, name = ''] = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/.exec(host.toLowerCase()) ?? []
  const bare = name.replace(/^\[|\]$/g, '')
  return isIP(bare) !== 0 || bare === 'localhost' || bare === configuredHost || hosts.includes(bare)
}

/** A form of another origin may POST without CORS, and its Host is right. */
const isCrossOrigin = ({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean => {
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') return true
  return origin !== undefined && URL.parse(origin)?.host !== host?.toLowerCase()
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
  detail: 'send the token of an operator as Authorization: Bearer …',
  headers: { 'WWW-Authenticate': 'Bearer' },
}

// RFC 9110 §15.5.2: a 401 names a scheme, although certificates have none.
const withoutCertificate: AdminError = {
  ...unauthenticated,
  code: 'certificate-required',
  detail: 'connect with the certificate of an operator, and send no token: none opens this listener',
}

const ambientCertificate: AdminError = {
  ...unauthenticated,
  detail: 'a browser sends its certificate along by itself, so it sends commands by the forms under /actions/ alone',
}

// RFC 6750 §3.1: the challenge names the scope that a token needs here.
const insufficientScope = ({ name, scope: held }: Operator, needed: OperatorScope, method: string): AdminError => ({
  status: 403,
  code: 'insufficient-scope',
  detail: `${name} has the scope ${held}: ${
    held === 'metrics' ? 'that is for /metrics and /whoami alone' : 'that is to read, and to send no commands'
  }; ${method === 'GET' || method === 'HEAD' ? 'this page' : 'this'} takes the scope ${needed}`,
  headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${needed}"` },
})
