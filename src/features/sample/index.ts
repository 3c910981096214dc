import type { Feature } from '../../core/feature.ts'

/** Checks recorded messages against the contract: `check --sample`. */
export const sample: Feature = {
  name: 'sample',
  needs: ['auth', 'contract', 'explain', 'redis'],
  loadCommands: () => import('./command.ts'),
}
