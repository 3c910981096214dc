import type { Feature } from '../../core/feature.ts'

export const tail: Feature = {
  name: 'tail',
  loadCommands: () => import('./command.ts'),
}
