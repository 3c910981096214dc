import type { Feature } from '../../core/feature.ts'

export const top: Feature = {
  name: 'top',
  needs: ['overview'],
  loadCommands: () => import('./command.ts'),
}
