import type { Feature } from '../../core/feature.ts'

export const bundle: Feature = {
  name: 'bundle',
  needs: ['overview'],
  loadCommands: () => import('./command.ts'),
}
