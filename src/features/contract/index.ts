import type { Feature } from '../../core/feature.ts'

/** Holds requests and responses to an OpenAPI document. */
export const contract: Feature = {
  name: 'contract',
  face: [
    'check-queue.ts',
    'check/check-message.ts',
    'check/compiled-contract.ts',
    'check/formats.ts',
    'check/media-type.ts',
    'check/parameter-values.ts',
    'check/step-budget.ts',
    'check/strict-json.ts',
    'check/validators.ts',
    'compile/json-nodes.ts',
    'contract-options.ts',
    'contract-report.ts',
    'counted-rows.ts',
    'drift-report.ts',
    'looks-like-data.ts',
    'page.ts',
    'request-contract.ts',
    'response-contract.ts',
  ],
  facts: {
    shapesResponses: ({ contract: { response, unchecked } }, { contract, compiledContract }) =>
      response === 'enforce' && [compiledContract?.digest, unchecked, contract?.maxBody],
  },
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadTransfer: () => import('./transfer.ts'),
  loadCommands: () => import('./command.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  isUsed: ({ config }) => config.contract !== null || config.compiledContract !== null,
  loadPrimaryPart: () => import('./primary.ts'),
  loadStatusPart: () => import('./drift-report.ts'),
}
