import type { RouteScope } from '../admin-part.ts'
import { adminParts, featureReports } from '../admin-parts.ts'
import { commandGroups } from '../commands/command-groups.ts'

/** An unknown route needs `operate` and a bearer token: deny by default. */
export const findRouteScope = (method: string, path: string): Pick<RouteScope, 'scope' | 'bySession'> =>
  findRoute(method === 'HEAD' ? 'GET' : method, path) ?? unknown

const read = (path: string, scope: RouteScope['scope'] = 'read'): RouteScope => ({
  method: 'GET',
  path,
  scope,
  bySession: true,
})

/** All routes of the admin listener. */
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

const findRoute = (method: string, path: string): RouteScope | undefined =>
  routes.get(`${method} ${path}`) ?? routes.get(`${method} ${path.replace(/^(\/[^/]+\/).*/s, '$1*')}`)

const unknown = { scope: 'operate', bySession: false } as const
