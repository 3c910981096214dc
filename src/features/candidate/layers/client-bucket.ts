import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { formatOwner, type RequestOwner } from '../../../core/exchange/request-owner.ts'
import { bucketCount } from '../../../core/exchange/sides.ts'
import type { Group } from '../../../operations.ts'

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
