import type { Feature } from '../../core/feature.ts'

/** Sends a request again, where the first attempt failed and another may not. */
export const retry: Feature = {
  name: 'retry',
  loadConfigPart: () => import('./config.ts'),
}
