import type { Feature } from '../../core/feature.ts'

/** Has a POST with a key processed once. */
export const idempotency: Feature = {
  name: 'idempotency',
  loadAdminPart: () => import('./admin.ts'),
  loadOperatorCommands: () => import('./commands.ts'),
  loadStatusPart: () => import('./status.ts'),
}
