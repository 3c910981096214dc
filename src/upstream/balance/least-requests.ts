import type { Load, Pick } from './balance.ts'
import { takeTurns } from './take-turns.ts'

/**
 * Prefers those with few requests on their way, and takes turns among equals: equal loads share by weight exactly, and what has a
 * weight is never left out. The square (Envoy's weighted least request divides by the plain load, its `active_request_bias` being 1)
 * leaves one that hangs alone soon.
 */
export const leastRequests = <T extends Load>(): Pick<T> =>
  takeTurns((member, now) => member.weightAt(now) / (1 + member.inFlight) ** 2)
