/** The settings of layers as the file would write them, in one line each. */
import type {
  AddressLimitConfig,
  AuditConfig,
  Config,
  OperationAuthConfig,
  RetryConfig,
  TracingConfig,
} from '../../config/config.ts'
import { formatPercent, formatRate } from '../../units.ts'
import type { LearningMode } from '../resources/contract-learning.ts'

/** Describes how the contract is learnt. */
export const formatLearning = ({ enums, until }: LearningMode): string =>
  `${enums ? 'true, enums: true' : 'true'}${until === null ? '' : ` until ${new Date(until).toISOString()}`}`

/** Describes what is counted, in one line. */
export const formatMetrics = ({ clients }: NonNullable<Config['metrics']>): string =>
  clients ? 'clients: true' : 'true'

/** Describes where spans go, in one line. */
export const formatOtlp = ({ otlp, sample }: TracingConfig): string => `${otlp}, sample: ${formatPercent(sample)}`

/** Describes how the audit log is kept, in one line. */
export const formatAudit = ({ onFailure, digests }: AuditConfig): string =>
  `onFailure: ${onFailure}, digests: ${digests}`

/** Describes the limit of an address, in one line. */
export const formatAddressLimit = ({ rate, burst }: AddressLimitConfig): string =>
  `rate: ${formatRate(rate)}, burst: ${burst}`

/** Describes who is let in, in one line. */
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

/** Describes how many clients a limit applies to. */
export const formatClientCount = (clients: number): string => (clients === 1 ? 'of 1 client' : `of ${clients} clients`)

/** Describes retries, in one line. */
export const formatRetry = ({ attempts }: RetryConfig): string => `attempts: ${attempts}`
