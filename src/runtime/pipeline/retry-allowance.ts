import type { RetryAllowance } from '../../layers/resilience/retry.ts'
import type { Upstream } from '../../upstream/upstream.ts'

/**
 * Limits the retries of a group: none is granted, and none taken from the budget, while the circuit breaker of the side
 * that it would go to rejects it. `candidate` null: the group has no sides.
 */
export const createRetryAllowance = (
  budget: RetryAllowance | null,
  primary: Pick<Upstream, 'breaker'>,
  candidate: Pick<Upstream, 'breaker'> | null,
): RetryAllowance | null => {
  if (budget === null || (primary.breaker === null && (candidate === null || candidate.breaker === null))) return budget
  return {
    requested: () => budget.requested(),
    take: (side) => {
      const { breaker } = side === 'candidate' && candidate !== null ? candidate : primary
      return breaker?.state !== 'open' && budget.take(side)
    },
  }
}
