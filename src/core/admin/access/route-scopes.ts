import type { RouteScope } from '../admin-part.ts'
import { adminParts, featureReports } from '../admin-parts.ts'
import { commandGroups } from '../commands/command-groups.ts'

/** Finds the scope that a request takes. One that is not in the table takes that of an order, and the bearer token. */
export const findRouteScope = (method: string, path: string): Pick<RouteScope, 'scope' | 'bySession'> =>
  findRoute(method === 'HEAD' ? 'GET' : method, path) ?? unknown

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
  read('/metrics', 'metrics'),
  read('/whoami', 'metrics'),
  read('/status'),
  read('/overview'),
  read('/refused'),
  read('/requests'),
  ...featureReports.map(({ path }) => read(path)),
  read('/config'),
  ...commandGroups.flatMap(({ commands }) =>
    commands.map(({ method, path }): RouteScope => ({ method, path, scope: 'operate', bySession: false })),
  ),
  ...adminParts.flatMap((part) => part.pageRoutes?.(commandGroups) ?? []),
]

const routes = new Map(routeScopes.map((route) => [`${route.method} ${route.path}`, route]))

/** Finds the route of a path, or else the one of all paths that begin as it does. */
const findRoute = (method: string, path: string): RouteScope | undefined =>
  routes.get(`${method} ${path}`) ?? routes.get(`${method} ${path.replace(/^(\/[^/]+\/).*/s, '$1*')}`)

const unknown = { scope: 'operate', bySession: false } as const
