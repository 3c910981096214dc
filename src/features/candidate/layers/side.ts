import type { Exchange, Layer } from '../../../core/exchange/exchange.ts'
import { getFirstFieldValue, omitFields } from '../../../core/exchange/header-fields.ts'
import { findRequestOwner, type RequestOwner } from '../../../core/exchange/request-owner.ts'
import { bucketsOfShare } from '../../../core/exchange/sides.ts'
import type { Group, Side } from '../../../operations.ts'
import { getBucketMemory } from './client-bucket.ts'

/** Which clients of a group are on the candidate. */
interface SideRules {
  readonly group: Group
  /** Part of all clients, from 0 to 1. */
  readonly share: number
  /** Ids of clients that are on the candidate whatever the share is. */
  readonly clients: readonly string[]
}

export interface SideOptions extends SideRules {
  /** The leading bits of an IPv6 address that count as one client where none is authenticated. */
  readonly ipv6Prefix: number
  /** The response field that names the side; null: none does. */
  readonly expose: string | null
}

/** Creates the function that decides which side an owner of requests is on. Nothing else of a request decides it. */
export const createSideChooser = ({ group, share, clients }: SideRules): ((owner: RequestOwner) => Side) => {
  const named = new Set(clients)
  const below = bucketsOfShare(share)
  const findBucket = getBucketMemory(group)
  return (owner) => {
    if ('client' in owner && named.has(owner.client)) return 'candidate'
    return below > 0 && findBucket(owner) < below ? 'candidate' : 'primary'
  }
}

/**
 * Decides which side of its group each exchange is on, once. It stands behind authentication, which says whose the
 * request is, and outside the cache, which keeps the sides apart. The field that names the side is the gateway's own:
 * what an upstream says there goes no further.
 */
export const sideLayer = ({ ipv6Prefix, expose, ...rules }: SideOptions): Layer => {
  const chooseSide = createSideChooser(rules)
  const decide = (exchange: Exchange): void => {
    exchange.side = chooseSide(findRequestOwner(exchange, ipv6Prefix))
  }
  if (expose === null)
    return (next) => (exchange) => {
      decide(exchange)
      return next(exchange)
    }

  const lower = expose.toLowerCase()
  const ownName: ReadonlySet<string> = new Set([lower])
  const addField = (exchange: Exchange): void => {
    const stored = exchange.outcome?.stored ?? null
    // A stored response is of the client's own side, also where it stands in for a failure of the other.
    const side = stored === null ? exchange.servingSide : exchange.side
    if (side === null || stored === 'unknown-side') return
    exchange.addedResponseFields = [...(exchange.addedResponseFields ?? []), expose, side]
  }
  return (next) => (exchange) => {
    decide(exchange)
    return next(exchange).then(
      (response) => {
        addField(exchange)
        const isForged = getFirstFieldValue(response.fields, lower) !== undefined
        return isForged ? { ...response, fields: omitFields(response.fields, ownName) } : response
      },
      (error) => {
        addField(exchange)
        throw error
      },
    )
  }
}
