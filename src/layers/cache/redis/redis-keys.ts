import { createHash } from 'node:crypto'
import { allOperations, type OperationId } from '../../../operations.ts'
import type { CacheKey, PurgeScope } from '../cache-store.ts'

/** Hashes texts: what a client says may be long, and hold anything. */
export const digestTexts = (...texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('base64url')

/**
 * Builds the Redis key of all variants of a cache key. `shape` is of the configuration that decides what a response is:
 * gateways with another one do not find it.
 */
export const baseKey = (
  prefix: string,
  shape: string,
  operation: OperationId,
  { client, site, query }: CacheKey,
): string => `${prefix}:cache:${digestTexts(shape, operation, client, site, query)}`

/** Builds the Redis key of one of several responses that `Vary` tells apart. */
export const variantKey = (base: string, selecting: string): string => `${base}:${digestTexts(selecting)}`

/** The generations of a response: of its operation, and within that of its client and of its query. */
export const generationCount = 3

/** Builds the keys of a response's generations. They have no shape: a purge is for all gateways. */
export const generationKeys = (
  prefix: string,
  operation: OperationId,
  { client, query }: CacheKey,
): readonly string[] => [
  operationGenerationKey(prefix, operation),
  clientGenerationKey(prefix, operation, client),
  queryGenerationKey(prefix, operation, query),
]

/** Lists the generations that a purge ends. */
export const purgedGenerationKeys = (prefix: string, { operation, client }: PurgeScope): readonly string[] =>
  allOperations
    .filter(({ id, method }) => method === 'GET' && (operation === null || operation === id))
    .map(({ id }) => (client === null ? operationGenerationKey(prefix, id) : clientGenerationKey(prefix, id, client)))

const operationGenerationKey = (prefix: string, operation: OperationId): string => `${prefix}:cache:of:${operation}`

const clientGenerationKey = (prefix: string, operation: OperationId, client: string): string =>
  `${operationGenerationKey(prefix, operation)}:client:${digestTexts(client)}`

/** Builds the key of a query's generation. */
export const queryGenerationKey = (prefix: string, operation: OperationId, query: string): string =>
  `${operationGenerationKey(prefix, operation)}:query:${digestTexts(query)}`
