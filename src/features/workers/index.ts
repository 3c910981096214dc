import type { Feature } from '../../core/feature.ts'

export const workers: Feature = {
  name: 'workers',
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
}
