import { hash } from 'node:crypto'
import { allOperations, type OperationId } from '../../../operations.ts'
import type { PurgeScope } from '../store/cache-store.ts'
import type { CacheKey } from '../store/reservation.ts'

/** Hashes texts: what a client says may be long, and hold anything. */
const digestTexts = (...texts: readonly string[]): string => hash('sha256', JSON.stringify(texts), 'base64url')

export interface CacheKeySpace {
  readonly prefix: string
  /** Whether it is a cluster. There a script needs keys of one slot, so those of one operation share a `{tag}`. */
  readonly isCluster: boolean
}

// Not in other Redises too: gateways of neighbouring versions share what is in them (docs/versioning.md).
const operationPrefix = ({ prefix, isCluster }: CacheKeySpace, operation: OperationId): string =>
  isCluster ? `${prefix}:cache:{${operation}}` : `${prefix}:cache`

/**
 * Builds the Redis key of all variants of a cache key. `shape` is of the configuration that decides what a response is:
 * gateways with another one do not find it.
 */
export const baseKey = (
  space: CacheKeySpace,
  shape: string,
  operation: OperationId,
  { client, site, query }: CacheKey,
): string => `${operationPrefix(space, operation)}:${digestTexts(shape, operation, client, site, query)}`

export const variantKey = (base: string, selecting: string): string => `${base}:${digestTexts(selecting)}`

/** The generations of a response: of its operation, and within that of its client and of its query. */
export const generationCount = 3

/** They have no shape: a purge is for all gateways. */
export const generationKeys = (
  space: CacheKeySpace,
  operation: OperationId,
  { client, query }: CacheKey,
): readonly string[] => [
  operationGenerationKey(space, operation),
  clientGenerationKey(space, operation, client),
  queryGenerationKey(space, operation, query),
]

export const purgedGenerationKeys = (space: CacheKeySpace, { operation, client }: PurgeScope): readonly string[] =>
  allOperations
    .filter(({ id, method }) => method === 'GET' && (operation === null || operation === id))
    .map(({ id }) => (client === null ? operationGenerationKey(space, id) : clientGenerationKey(space, id, client)))

const operationGenerationKey = (space: CacheKeySpace, operation: OperationId): string =>
  `${operationPrefix(space, operation)}:of:${operation}`

const clientGenerationKey = (space: CacheKeySpace, operation: OperationId, client: string): string =>
  `${operationGenerationKey(space, operation)}:client:${digestTexts(client)}`

export const queryGenerationKey = (space: CacheKeySpace, operation: OperationId, query: string): string =>
  `${operationGenerationKey(space, operation)}:query:${digestTexts(query)}`
