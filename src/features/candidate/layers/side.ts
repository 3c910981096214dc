import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Config } from '../../../core/config/config.ts'
import type { Exchange, Layer } from '../../../core/exchange/exchange.ts'
import { getFirstFieldValue, omitFields } from '../../../core/exchange/header-fields.ts'
import {
  defaultIpv6Prefix,
  findRequestOwner,
  formatOwner,
  type RequestOwner,
} from '../../../core/exchange/request-owner.ts'
import { bucketCount, bucketsOfShare } from '../../../core/exchange/sides.ts'
import type { Group, Side } from '../../../operations.ts'
import type { CandidateUse } from '../candidate-clients.ts'

interface SideRules extends CandidateUse {
  readonly group: Group
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

/**
 * Returns the bucket of an owner of requests to a group, from 0 to 9,999. It depends on both alone: reloads, restarts
 * and other gateways agree, and no edit of the candidate moves a client. Each group has a salt of its own, so that the
 * same clients are not the first in all groups.
 */
export const clientBucket = (group: Group, owner: RequestOwner): number =>
  createHmac('sha256', `lender-gateway: the side of a client of ${group}`)
    .update(formatOwner(owner))
    .digest()
    .readUInt32BE(0) % bucketCount

// An HMAC takes 2.5 µs, and looking it up 0.03 µs. Many more than a lender has clients; a stranger's addresses push out
// each other, and no client.
const maxRemembered = 4096

type FindBucket = (owner: RequestOwner) => number

const memories = new Map<Group, FindBucket>()

/**
 * Returns the {@link clientBucket} of one group that remembers the buckets of the last owners. There is one in the
 * process: no step, order or reload makes it forget, because none changes a bucket.
 */
export const getBucketMemory = (group: Group): FindBucket => {
  const memory = memories.get(group) ?? createBucketMemory(group)
  memories.set(group, memory)
  return memory
}

const createBucketMemory = (group: Group): FindBucket => {
  const clients = new LRUCache<string, number>({ max: maxRemembered })
  const addresses = new LRUCache<string, number>({ max: maxRemembered })
  return (owner) => {
    const isClient = 'client' in owner
    const remembered = isClient ? clients : addresses
    const name = isClient ? owner.client : owner.address
    const known = remembered.get(name)
    if (known !== undefined) return known
    const bucket = clientBucket(group, owner)
    remembered.set(name, bucket)
    return bucket
  }
}

/** Returns how many leading bits of an IPv6 address count as one client, as the limits by address count them. */
export const clientIpv6Prefix = ({ limits }: Pick<Config, 'limits'>): number =>
  limits.address?.ipv6Prefix ?? defaultIpv6Prefix
