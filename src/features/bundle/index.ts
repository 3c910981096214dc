import type { Feature } from '../../core/feature.ts'

export const bundle: Feature = {
  name: 'bundle',
  loadCommands: () => import('./command.ts'),
}
