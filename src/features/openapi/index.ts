import type { Feature } from '../../core/feature.ts'

/** Describes the nine in OpenAPI, with what the gateway adds. */
export const openapi: Feature = {
  name: 'openapi',
  loadCommands: () => import('./command.ts'),
}
