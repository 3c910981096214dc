import type { Feature } from '../../core/feature.ts'

/** Holds requests and responses to an OpenAPI document. */
export const contract: Feature = {
  name: 'contract',
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  // A document may have megabytes, and the primary alone shows it.
  transfer: {
    pack({ compiledContract, ...config }, to) {
      const sent = to === 'worker' ? compiledContract && { ...compiledContract, document: null } : compiledContract
      return [{ ...config, compiledContract: sent }, null]
    },
  },
  loadCommands: () => import('./contract-commands.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadStatusPart: () => import('./drift-report.ts'),
}
