import type { PlacedMetrics } from '../../core/admin/admin-part.ts'
import { cacheMetrics } from './metrics.ts'

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: cacheMetrics }]
