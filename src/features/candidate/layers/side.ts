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
  /** The leading bits of an IPv6 address that count as one client when no client is authenticated. */
  readonly ipv6Prefix: number
  /** Null: no response field names the side. */
  readonly expose: string | null
}

/** The owner of a request alone decides the side. */
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
 * Decides the side of each exchange, once. Behind authentication, which names the owner, and outside the cache, which
 * keeps the sides apart. An upstream's own field of this name is removed.
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
    // A stored response is from the client's own side, even when it replaces a failure of the other side.
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
 * The bucket of an owner within a group, from 0 to 9,999. Reloads, restarts and other gateways agree, and no edit of
 * the candidate moves a client. Each group has its own salt, so that different clients go first in each group.
 */
export const clientBucket = (group: Group, owner: RequestOwner): number =>
  createHmac('sha256', `lender-gateway: the side of a client of ${group}`)
    .update(formatOwner(owner))
    .digest()
    .readUInt32BE(0) % bucketCount

// An HMAC takes 2.5 µs, a lookup 0.03 µs. 4,096 is far more than a lender's clients. Addresses are kept apart, so that
// a stranger with many addresses cannot evict a client.
const maxRemembered = 4096

type FindBucket = (owner: RequestOwner) => number

const memories = new Map<Group, FindBucket>()

/**
 * Returns {@link clientBucket} with a memory of the last owners. One per group and process: no step, command or reload
 * changes a bucket.
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

/** The same prefix as `limits.address` uses. */
export const clientIpv6Prefix = ({ limits }: Pick<Config, 'limits'>): number =>
  limits.address?.ipv6Prefix ?? defaultIpv6Prefix
