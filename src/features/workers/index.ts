import type { Feature } from '../../core/feature.ts'

/** Divides the gateway among several processes. The primary accepts, probes and supervises for them. */
export const workers: Feature = {
  name: 'workers',
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
}
