import type { Feature } from '../../core/feature.ts'

/** Shows the state of a running gateway in a terminal, live. */
export const top: Feature = {
  name: 'top',
  loadCommands: () => import('./command.ts'),
}
