import type { Feature } from '../../core/feature.ts'

export const top: Feature = {
  name: 'top',
  loadCommands: () => import('./command.ts'),
}
