import type { PlacedMetrics } from '../../core/admin/admin-part.ts'
import { authMetrics } from './metrics.ts'

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: authMetrics }]
