import type { OpenPages, RouteScope } from '../../core/admin/admin-part.ts'
import type { CommandGroup } from '../../core/admin/commands/command.ts'

export const loadPages = async (): Promise<OpenPages> => (await import('./page/page-routes.ts')).openOperatorPages

export const pageRoutes = (groups: readonly CommandGroup[]): readonly RouteScope[] => [
  route('GET', '/login', 'none'),
  route('POST', '/login', 'none'),
  route('GET', '/assets/*', 'none'),
  route('GET', '/', 'read'),
  route('GET', '/events', 'read'),
  route('GET', '/configuration', 'read'),
  route('POST', '/logout', 'read'),
  // Only operators who may send the command see its page.
  ...groups
    .flatMap(({ commands }) => commands.flatMap(({ page }) => page ?? []))
    .flatMap((page) => [route('GET', `/actions/${page}`, 'operate'), route('POST', `/actions/${page}`, 'operate')]),
]

const route = (method: RouteScope['method'], path: string, scope: RouteScope['scope']): RouteScope => ({
  method,
  path,
  scope,
  bySession: true,
})
