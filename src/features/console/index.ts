import type { Feature } from '../../core/feature.ts'

/** The pages of the operator's listener, and the sessions of those who read them. */
export const operatorConsole: Feature = {
  name: 'console',
  needs: ['candidate', 'contract', 'contract-learning'],
  loadAdminPart: () => import('./admin.ts'),
}
