import type { Feature } from '../../core/feature.ts'

export const operatorConsole: Feature = {
  name: 'console',
  needs: ['overview'],
  loadAdminPart: () => import('./admin.ts'),
}
