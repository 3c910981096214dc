import type { Feature } from '../../core/feature.ts'

/** Drafts a contract from what clients send and upstreams respond. */
export const contractLearning: Feature = {
  name: 'contract-learning',
  needs: ['contract'],
  loadAdminPart: () => import('./admin.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  runsWith: ['contract'],
  isUsed: ({ config, overrides }) => config.contract?.learn === true || overrides.learning?.get('contract') != null,
  loadPrimaryPart: () => import('./primary.ts'),
  loadOperatorCommands: () => import('./commands.ts'),
  loadCommands: () => import('./command.ts'),
}
