import { createHash } from 'node:crypto'
import { catalog, type OperationId } from '../../../catalog.ts'
import type { Cleared, Name } from '../store.ts'

/** Sums up texts: what a client says may be long, and holds what it likes. */
export const digest = (...texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('base64url')

/** Makes the key of all that is there for a name. `shape` is of the configuration that decides what an answer is: others do not find it. */
export const baseKey = (prefix: string, shape: string, operation: OperationId, { client, site, query }: Name): string =>
  `${prefix}:cache:${digest(shape, operation, client, site, query)}`

/** Makes the key of one of several that `Vary` tells apart. */
export const variantKey = (base: string, selecting: string): string => `${base}:${digest(selecting)}`

/** How many generations an answer is of: of its operation, and there of its client and of its query. */
export const generations = 3

/** Makes the keys of the generations that an answer is of. They are of no shape: what is cleared is cleared for all gateways. */
export const generationKeys = (prefix: string, operation: OperationId, { client, query }: Name): readonly string[] => [
  ofOperation(prefix, operation),
  ofClient(prefix, operation, client),
  ofQuery(prefix, operation, query),
]

/** Lists the generations that end when something is cleared. */
export const clearedKeys = (prefix: string, { operation, client }: Cleared): readonly string[] =>
  catalog
    .filter(({ id, method }) => method === 'GET' && (operation === null || operation === id))
    .map(({ id }) => (client === null ? ofOperation(prefix, id) : ofClient(prefix, id, client)))

const ofOperation = (prefix: string, operation: OperationId): string => `${prefix}:cache:of:${operation}`

const ofClient = (prefix: string, operation: OperationId, client: string): string =>
  `${ofOperation(prefix, operation)}:client:${digest(client)}`

/** Makes the key of the generation of a query. */
export const ofQuery = (prefix: string, operation: OperationId, query: string): string =>
  `${ofOperation(prefix, operation)}:query:${digest(query)}`
