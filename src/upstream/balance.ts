import { GatewayError } from '../errors.ts'
import type { Endpoint } from './endpoint.ts'

/** Picks endpoints in the proportion of their weights, evenly spread (smooth weighted round robin, as nginx does it). */
export const balance = (endpoints: readonly Endpoint[]): (() => Endpoint) => {
  const credits = endpoints.map(({ weight }) => ({ weight, credit: 0 }))
  const total = endpoints.reduce((sum, { weight }) => sum + weight, 0)

  return () => {
    let best = -1
    for (const [i, each] of credits.entries()) {
      each.credit += each.weight
      if (each.weight > 0 && (best === -1 || each.credit > (credits[best]?.credit ?? 0))) best = i
    }
    const endpoint = endpoints[best]
    const paid = credits[best]
    if (endpoint === undefined || paid === undefined) throw new GatewayError('no-healthy-endpoint')
    paid.credit -= total
    return endpoint
  }
}
