import type { Feature } from '../../core/feature.ts'

export const openapi: Feature = {
  name: 'openapi',
  loadAdminPart: () => import('./admin.ts'),
  loadCommands: () => import('./command.ts'),
}
