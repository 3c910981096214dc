import type { AdminReport } from '../../core/admin/admin-part.ts'
import { createOpenApiDocument } from './openapi-document.ts'

export const reports: readonly AdminReport[] = [
  {
    path: '/openapi.json',
    respond: async ({ reloader: { config } }) =>
      createOpenApiDocument(config, config.compiledContract?.document ?? null),
  },
]
