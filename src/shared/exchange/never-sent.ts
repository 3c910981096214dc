import type { Exchange } from '../../exchange.ts'
import type { FailedAttempt, GatewayError } from '../../failures/errors.ts'
import { type FailureKind, failureTable } from '../../failures/kinds.ts'

// The gateway has no endpoint for it.
const unsentKinds: ReadonlySet<FailureKind> = new Set<FailureKind>(['no-healthy-endpoint', 'circuit-open'])

/** Tells whether nothing of a failed request has reached an upstream, in any of its attempts. */
export const wasNeverSent = ({ attempts, failedAttempts }: Exchange, error: GatewayError): boolean => {
  const failed = failedAttempts ?? []
  const others = attempts - failed.length
  return failed.every(isUnsent) && (others === 0 || (others === 1 && hasNoPlace(error)))
}

/** Tells whether an upstream had no place for a request: no endpoint, no connection, or an open breaker. */
export const hasNoPlace = ({ kind, reason }: GatewayError): boolean =>
  // The response to a request that was sent can want for room too: `overloaded` alone says nothing.
  unsentKinds.has(kind) || (kind === 'overloaded' && reason === 'endpoint-connections')

const isUnsent = ({ errorOrStatus }: FailedAttempt): boolean =>
  typeof errorOrStatus !== 'number' && failureTable[errorOrStatus.kind].retry === 'always'
