import type { Feature } from '../../core/feature.ts'

export const explain: Feature = {
  name: 'explain',
  loadCommands: () => import('./explain.ts'),
}
