import type { Feature } from '../../core/feature.ts'

export const sample: Feature = {
  name: 'sample',
  needs: ['auth', 'contract', 'explain', 'redis'],
  loadFileChecks: () => import('./file-checks.ts'),
}
