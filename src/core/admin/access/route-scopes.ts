import type { OperatorScope } from '../../lib/operator-scopes.ts'
import { featureReports } from '../admin-parts.ts'
import { commandGroups } from '../commands/command-groups.ts'

interface RouteScope {
  /** GET stands for HEAD too. */
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** The path; a last `*` stands for anything. */
  readonly path: string
  /** `none`: no credential at all. */
  readonly scope: OperatorScope | 'none'
  /**
   * Whether the cookie of a session is credential enough. A browser sends it along with whatever any page asks for. So
   * it is enough to read, and for the forms of the pages, which count only with their token.
   */
  readonly bySession: boolean
}

/** Finds the scope that a request takes. One that is not in the table takes that of an order, and the bearer token. */
export const findRouteScope = (method: string, path: string): Pick<RouteScope, 'scope' | 'bySession'> =>
  routes.get(`${method === 'HEAD' ? 'GET' : method} ${path.startsWith('/assets/') ? '/assets/*' : path}`) ?? unknown

const read = (path: string, scope: RouteScope['scope'] = 'read'): RouteScope => ({
  method: 'GET',
  path,
  scope,
  bySession: true,
})

/** The scope of every request that the admin listener serves, for the guard, the documentation and the tests. */
export const routeScopes: readonly RouteScope[] = [
  read('/live', 'none'),
  read('/ready', 'none'),
  read('/login', 'none'),
  { ...read('/login', 'none'), method: 'POST' },
  read('/assets/*', 'none'),
  read('/metrics', 'metrics'),
  read('/whoami', 'metrics'),
  read('/'),
  read('/events'),
  read('/status'),
  read('/overview'),
  read('/refused'),
  read('/requests'),
  ...featureReports.map(({ path }) => read(path)),
  read('/config'),
  read('/configuration'),
  { ...read('/logout'), method: 'POST' },
  ...commandGroups.flatMap(({ commands }) =>
    commands.flatMap(({ method, path, page }): readonly RouteScope[] => [
      { method, path, scope: 'operate', bySession: false },
      ...(page === null ? [] : [pageScope('GET', page), pageScope('POST', page)]),
    ]),
  ),
]

// The page that asks before an order is for those alone who may give it.
function pageScope(method: 'GET' | 'POST', page: string): RouteScope {
  return { method, path: `/actions/${page}`, scope: 'operate', bySession: true }
}

const routes = new Map(routeScopes.map((route) => [`${route.method} ${route.path}`, route]))

const unknown = { scope: 'operate', bySession: false } as const
