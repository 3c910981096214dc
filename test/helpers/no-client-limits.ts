import type { ClientLimits } from '../../src/features/limits/client-limits.ts'

/** Limits no client. */
export const noClientLimits: ClientLimits = {
  rateLimitedCount: 0,
  concurrencyLimitedCount: 0,
  getRateLimiter: () => undefined,
  getConcurrencyLimit: () => null,
  state: () => null,
  release: () => {},
}
