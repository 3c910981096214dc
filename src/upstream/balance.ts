import { GatewayError } from '../errors.ts'
import type { Endpoint } from './endpoint.ts'

/** Is an endpoint in its place behind a group: its connections may be shared with another snapshot, its share of the traffic is not. */
export interface Member {
  readonly endpoint: Endpoint
  readonly weight: number
}

/** Picks endpoints in the proportion of their weights, evenly spread (smooth weighted round robin, as nginx does it). */
export const balance = (members: readonly Member[]): (() => Endpoint) => {
  const credits = members.map(({ weight }) => ({ weight, credit: 0 }))
  const total = members.reduce((sum, { weight }) => sum + weight, 0)

  return () => {
    let best = -1
    for (const [i, each] of credits.entries()) {
      each.credit += each.weight
      if (each.weight > 0 && (best === -1 || each.credit > (credits[best]?.credit ?? 0))) best = i
    }
    const chosen = members[best]
    const paid = credits[best]
    if (chosen === undefined || paid === undefined) throw new GatewayError('no-healthy-endpoint')
    paid.credit -= total
    return chosen.endpoint
  }
}
