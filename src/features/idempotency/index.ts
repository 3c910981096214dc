import type { Feature } from '../../core/feature.ts'
import { protectOperations } from '../../core/runtime/primary-part.ts'

export const idempotency: Feature = {
  name: 'idempotency',
  needs: ['redis'],
  facts: {
    keyFields: ({ idempotency }) => (idempotency === null ? [] : [idempotency.header]),
    redis: { section: 'idempotency', purpose: 'records' },
  },
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: async () => ({ ...(await import('./config.ts')), ...(await import('./rules.ts')) }),
  loadOperatorCommands: () => import('./commands.ts'),
  loadPrimaryPart: async () => ({
    protections: {
      before: 'tls.verify',
      value: protectOperations('idempotency', ({ operations }, id) => operations[id].idempotency !== null),
    },
  }),
  loadRuntimePart: () => import('./runtime.ts'),
  isUsed: ({ config: { operations } }) => Object.values(operations).some(({ idempotency }) => idempotency !== null),
  loadStatusPart: () => import('./status.ts'),
  loadCommands: async () => ({ loadExplain: async () => ({ wholeLayers: ['idempotency'] }) }),
}
