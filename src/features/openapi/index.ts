import type { Feature } from '../../core/feature.ts'

/** Describes the nine in OpenAPI, with what the gateway adds. */
export const openapi: Feature = {
  name: 'openapi',
  loadAdminPart: () => import('./admin.ts'),
  loadCommands: () => import('./command.ts'),
}
