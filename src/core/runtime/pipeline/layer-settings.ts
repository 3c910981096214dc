/** The settings of layers as the file would write them, in one line each. */

import type { AuditConfig } from '../../../features/audit/config.ts'
import type { LearningMode } from '../../../features/contract-learning/continue-learning.ts'
import type { RetryConfig } from '../../../features/retry/config.ts'
import type { AddressLimitConfig, Config, OperationAuthConfig } from '../../config/config.ts'
import { formatRate } from '../../lib/text/units.ts'

export const formatLearning = ({ enums, until }: LearningMode): string =>
  `${enums ? 'true, enums: true' : 'true'}${until === null ? '' : ` until ${new Date(until).toISOString()}`}`

export const formatMetrics = ({ clients }: NonNullable<Config['metrics']>): string =>
  clients ? 'clients: true' : 'true'

export const formatAudit = ({ onFailure, digests }: AuditConfig): string =>
  `onFailure: ${onFailure}, digests: ${digests}`

export const formatAddressLimit = ({ rate, burst }: AddressLimitConfig): string =>
  `rate: ${formatRate(rate)}, burst: ${burst}`

export const formatAuth = ({ methods, scopes, claims }: OperationAuthConfig): string => {
  const claimTexts = Object.entries(claims).map(([name, value]) => `${name}: ${value}`)
  const required = [...scopes.map((scope) => `scope ${scope}`), ...claimTexts]
  return methods.join(', ') + (required.length === 0 ? '' : ` with ${required.join(', ')}`)
}

/**
 * Returns how many clients a limit applies to. Null: the operation has no authentication, so no client is known, or no
 * client has that limit.
 */
export const limitedClients = (auth: OperationAuthConfig | null, count: number): number | null =>
  auth === null || count === 0 ? null : count

export const formatClientCount = (clients: number): string => (clients === 1 ? 'of 1 client' : `of ${clients} clients`)

export const formatRetry = ({ attempts }: RetryConfig): string => `attempts: ${attempts}`
