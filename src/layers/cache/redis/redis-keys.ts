import { createHash } from 'node:crypto'
import { allOperations, type OperationId } from '../../../operations.ts'
import type { CacheKey, PurgeScope } from '../cache-store.ts'

/** Sums up texts: what a client says may be long, and holds what it likes. */
export const digestTexts = (...texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('base64url')

/** Makes the key of all that is there for a name. `shape` is of the configuration that decides what an answer is: others do not find it. */
export const baseKey = (
  prefix: string,
  shape: string,
  operation: OperationId,
  { client, site, query }: CacheKey,
): string => `${prefix}:cache:${digestTexts(shape, operation, client, site, query)}`

/** Makes the key of one of several that `Vary` tells apart. */
export const variantKey = (base: string, selecting: string): string => `${base}:${digestTexts(selecting)}`

/** How many generations an answer is of: of its operation, and there of its client and of its query. */
export const generationCount = 3

/** Makes the keys of the generations that an answer is of. They are of no shape: what is cleared is cleared for all gateways. */
export const generationKeys = (
  prefix: string,
  operation: OperationId,
  { client, query }: CacheKey,
): readonly string[] => [
  operationGenerationKey(prefix, operation),
  clientGenerationKey(prefix, operation, client),
  queryGenerationKey(prefix, operation, query),
]

/** Lists the generations that end when something is cleared. */
export const purgedGenerationKeys = (prefix: string, { operation, client }: PurgeScope): readonly string[] =>
  allOperations
    .filter(({ id, method }) => method === 'GET' && (operation === null || operation === id))
    .map(({ id }) => (client === null ? operationGenerationKey(prefix, id) : clientGenerationKey(prefix, id, client)))

const operationGenerationKey = (prefix: string, operation: OperationId): string => `${prefix}:cache:of:${operation}`

const clientGenerationKey = (prefix: string, operation: OperationId, client: string): string =>
  `${operationGenerationKey(prefix, operation)}:client:${digestTexts(client)}`

/** Makes the key of the generation of a query. */
export const queryGenerationKey = (prefix: string, operation: OperationId, query: string): string =>
  `${operationGenerationKey(prefix, operation)}:query:${digestTexts(query)}`
