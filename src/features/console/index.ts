import type { Feature } from '../../core/feature.ts'

/** The pages of the operator's listener, and the sessions of those who read them. */
export const operatorConsole: Feature = {
  name: 'console',
  loadAdminPart: () => import('./admin.ts'),
}
