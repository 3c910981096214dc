import type { Feature } from '../../core/feature.ts'

/** Prints the nine as an HTTPRoute of Kubernetes. */
export const httproute: Feature = {
  name: 'httproute',
  loadCommands: () => import('./httproute.ts'),
}
