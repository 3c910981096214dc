import type { Feature } from '../../core/feature.ts'

/** Holds requests and responses to an OpenAPI document. */
export const contract: Feature = {
  name: 'contract',
  facts: {
    shapesResponses: ({ contract: { response, unchecked } }, { contract, compiledContract }) =>
      response === 'enforce' && [compiledContract?.digest, unchecked, contract?.maxBody],
  },
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadTransfer: () => import('./transfer.ts'),
  loadCommands: () => import('./contract-commands.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadStatusPart: () => import('./drift-report.ts'),
}
