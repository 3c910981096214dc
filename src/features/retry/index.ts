import type { Feature } from '../../core/feature.ts'

/** Sends a request again, where the first attempt failed and another may not. */
export const retry: Feature = {
  name: 'retry',
  loadPrimaryPart: () => import('./primary.ts'),
  loadConfigPart: () => import('./config.ts'),
}
