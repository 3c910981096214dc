import type { Load, Pick } from './balance.ts'
import { takeTurns } from './take-turns.ts'

/**
 * Prefers those with few requests on their way for their weight, and takes turns among equals: those that are loaded in the proportion of
 * their weights share by weight exactly, and what has a weight is never left out. The square (Envoy's weighted least request divides by
 * the plain load, its `active_request_bias` being 1) leaves one that hangs alone soon. Not relative to the weight, a canary of 1 beside 100
 * would have seventeen times its share with a hundred under way.
 */
export const leastRequests = <T extends Load>(): Pick<T> => {
  let meanWeight = 1
  const pick = takeTurns<T>((member, now) => {
    const weight = member.weightAt(now)
    return weight / (1 + (member.inFlight * meanWeight) / weight) ** 2
  })
  return (open, now) => {
    let total = 0
    for (const member of open) total += member.weightAt(now)
    meanWeight = total / open.length
    return pick(open, now)
  }
}
