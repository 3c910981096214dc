import type { Feature } from '../../core/feature.ts'

export const httproute: Feature = {
  name: 'httproute',
  loadCommands: () => import('./httproute.ts'),
}
