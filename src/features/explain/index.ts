import type { Feature } from '../../core/feature.ts'

/** Tells what becomes of a request, and which line of the file says so. */
export const explain: Feature = {
  name: 'explain',
  loadCommands: () => import('./explain.ts'),
}
