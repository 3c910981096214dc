/** The settings of layers as the file would write them, in one line each. */

import type { RetryConfig } from '../../../features/retry/config.ts'
import type { Config } from '../../config/config.ts'

export const formatMetrics = ({ clients }: NonNullable<Config['metrics']>): string =>
  clients ? 'clients: true' : 'true'

export const formatRetry = ({ attempts }: RetryConfig): string => `attempts: ${attempts}`
