import type { AdminReport } from '../../core/admin/admin-part.ts'

export const reports: readonly AdminReport[] = [
  {
    before: 'config',
    path: '/openapi.json',
    respond: async ({ reloader: { config } }) => (await import('./openapi-document.ts')).createOpenApiDocument(config),
  },
]
