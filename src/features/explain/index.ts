import type { Feature } from '../../core/feature.ts'

export const explain: Feature = {
  name: 'explain',
  face: ['rejection.ts'],
  loadCommands: () => import('./explain.ts'),
}
