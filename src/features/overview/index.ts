import type { Feature } from '../../core/feature.ts'

/** Rates, and the last reloads and commands. */
export const overview: Feature = {
  name: 'overview',
  face: ['overview.ts', 'rate-history.ts'],
  loadAdminPart: () => import('./admin.ts'),
}
