import type { Feature } from '../../core/feature.ts'

/** Writes what is known of a running gateway into one archive. */
export const bundle: Feature = {
  name: 'bundle',
  loadCommands: () => import('./command.ts'),
}
