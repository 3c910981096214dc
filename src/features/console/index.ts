import type { Feature } from '../../core/feature.ts'

export const operatorConsole: Feature = {
  name: 'console',
  loadAdminPart: () => import('./admin.ts'),
}
