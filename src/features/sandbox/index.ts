import type { Feature } from '../../core/feature.ts'

/** An upstream that echoes, embedded in the gateway. */
export const sandbox: Feature = {
  name: 'sandbox',
  loadPrimaryPart: () => import('./sandbox.ts'),
}
