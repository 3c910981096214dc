import type { Feature } from '../../core/feature.ts'

/** Rates, and the last reloads and commands. */
export const overview: Feature = {
  name: 'overview',
  loadAdminPart: () => import('./admin.ts'),
}
