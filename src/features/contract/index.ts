import type { Feature } from '../../core/feature.ts'
import { transfer } from './transfer.ts'

/** Holds requests and responses to an OpenAPI document. */
export const contract: Feature = {
  name: 'contract',
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  transfer,
  loadCommands: () => import('./contract-commands.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadStatusPart: () => import('./drift-report.ts'),
}
