import type { Feature } from '../../core/feature.ts'

/** Prints the requests of a running gateway as they end. */
export const tail: Feature = {
  name: 'tail',
  loadCommands: () => import('./command.ts'),
}
