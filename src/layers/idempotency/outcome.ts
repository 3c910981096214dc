import type { Exchange } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { type FailureKind, failureTable } from '../../failures/kinds.ts'

/** What a response says of its request: it was processed, it was not, or that cannot be told. */
export type ProcessedState = 'done' | 'free' | 'unknown'

// The upstream has not taken the request on: the credential, the rate, the time or the state of the resource was wrong,
// and a repetition may find it right.
const freeStatuses: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429])

/** Tells from the status of an upstream's response whether the request was processed. */
export const classifyResponse = (status: number): ProcessedState => {
  if (status >= 500) return 'unknown'
  return freeStatuses.has(status) ? 'free' : 'done'
}

// The gateway has no endpoint for it.
const unsentKinds: ReadonlySet<FailureKind> = new Set<FailureKind>(['no-healthy-endpoint', 'circuit-open'])

/** Tells whether nothing of a failed request has reached an upstream, in any of its attempts. */
export const wasNeverSent = ({ attempts, failedAttempts }: Exchange, error: GatewayError): boolean => {
  const failed = failedAttempts ?? []
  const others = attempts - failed.length
  return failed.every(isUnsent) && (others === 0 || (others === 1 && hasNoPlace(error)))
}

// The response to a request that was sent can want for room too: `overloaded` alone says nothing.
const hasNoPlace = ({ kind, reason }: GatewayError): boolean =>
  unsentKinds.has(kind) || (kind === 'overloaded' && reason === 'endpoint-connections')

const isUnsent = ({ errorOrStatus }: NonNullable<Exchange['failedAttempts']>[number]): boolean =>
  errorOrStatus instanceof GatewayError && failureTable[errorOrStatus.kind].retry === 'always'
