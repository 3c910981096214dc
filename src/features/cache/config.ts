import * as z from 'zod'
import type { DeepReadonly } from '../../core/config/config.ts'
import type { ConfigSection, OperationKey, ResolveOperation } from '../../core/config/config-part.ts'
import { type ConfigRule, parseAt } from '../../core/config/rules/rule.ts'
import { lowerFieldName } from '../../core/config/schema/header-fields.ts'
import { policySwitch } from '../../core/config/schema/inheritance.ts'
import { InvalidScalar } from '../../core/config/schema/scalar-kind.ts'
import {
  boolean,
  duration,
  durationOrZero,
  forbiddenKey,
  keySchema,
  list,
  map,
  mebibyte,
  optionalDuration,
  size,
} from '../../core/config/schema/scalar-types.ts'
import { formatSize } from '../../core/lib/text/units.ts'
import { allOperations } from '../../operations.ts'
import { redisSchema } from '../redis/config.ts'
import { redisRule } from '../redis/rules.ts'
import { heuristicStatuses } from './policy/status-codes.ts'

const cacheSchema = map('The store of responses, for operations with cache', {
  maxBytes: size('Most memory for stored responses, of all operations and workers together', {
    min: mebibyte,
  }).prefault('64MiB'),
  credentials: list(
    'Fields in which clients send credentials, beside Authorization and Cookie: a request with one gets no stored response',
    lowerFieldName('A field name; case does not matter', 'X-Api-Key'),
    { max: 20 },
  ).prefault(['X-Api-Key']),
  redis: redisSchema(
    'Redis or Valkey, in which gateways share stored responses',
    'this gateway uses only responses that it stored itself',
    '20ms',
  ).prefault('none'),
})

const statusWords = `${heuristicStatuses.slice(0, -1).join(', ')} or ${heuristicStatuses.at(-1)}`

// RFC 9111 §3: other statuses need an explicit lifetime.
const storableStatus = keySchema({
  expected: `a status that RFC 9110 §15.1 lets a cache store: ${statusWords}`,
  parse: (text) =>
    heuristicStatuses.some((status) => String(status) === text)
      ? String(text)
      : new InvalidScalar(
          'a status that is stored only if the response has a lifetime',
          'have the upstream send Cache-Control with it, or remove this line',
        ),
}).meta({ pattern: `^(${heuristicStatuses.join('|')})$` })

/** Milliseconds by status. A single duration is for 200. */
const ttl = z
  .union([
    optionalDuration('How long a 200 without a lifetime is fresh'),
    z.record(storableStatus, duration('How long such a response is fresh')),
  ])
  .transform((given): Readonly<Record<string, number>> | null => (typeof given === 'number' ? { 200: given } : given))
  .meta({ description: 'How long a response without a lifetime is fresh, by status' })

const policy = map('How responses are stored, and when they are used', {
  maxEntry: size('A longer response is forwarded, and not stored', { min: 1024, max: 1024 * mebibyte }).prefault(
    '1MiB',
  ),
  shared: boolean(
    'Whether requests with credentials may get a stored response, where that response allows it',
  ).prefault(false),
  heuristic: boolean('Whether a response with Last-Modified and no lifetime of its own gets one').prefault(false),
  ttl: ttl.prefault('none'),
  staleIfError: optionalDuration(
    'How long a stale response may be served in place of a failure, unless the response says',
  ).prefault('none'),
  staleWhileRevalidate: optionalDuration(
    'How long a stale response is served while a newer one is fetched, unless the response says',
  ).prefault('none'),
  staleWhenDisconnected: durationOrZero(
    'How long a stale response is served while the upstream cannot be reached',
  ).prefault('60s'),
})

const cacheSwitch = policySwitch(
  'Whether responses are stored, as the defaults say',
  '{ maxEntry: …, … }',
  '{ staleIfError: 10m }',
)

const operationCacheSchema = z
  .union([cacheSwitch, policy])
  .transform((given) => (given === true ? policy.parse({}) : given === false ? null : given))
  .meta({ description: 'Whether responses are stored and used again (RFC 9111); GET operations only' })

type ParsedCache = z.output<typeof operationCacheSchema>

/** RFC 9111. `staleWhenDisconnected` 0: never stale. */
export type OperationCacheConfig = NonNullable<DeepReadonly<ParsedCache>>

declare module '../../core/config/config.ts' {
  interface ParsedConfig {
    readonly cache: z.output<typeof cacheSchema>
  }
  interface ParsedOperation {
    readonly cache?: ParsedCache
  }
  interface OperationConfig {
    readonly cache: OperationCacheConfig | null
  }
}

export const sections: readonly ConfigSection[] = [{ key: 'cache', after: 'admin', schema: cacheSchema.prefault({}) }]

export const operationKeys: readonly OperationKey[] = [
  {
    key: 'cache',
    order: 4,
    get: operationCacheSchema.prefault(false),
    post: forbiddenKey('only GET operations can be cached', 'remove this line').optional(),
  },
]

export const resolveOperation: ResolveOperation = (stated) => ({ cache: stated?.cache ?? null })

const entryFitsCache: ConfigRule = (tree) => {
  const cache = parseAt(tree, cacheSchema.prefault({}), ['cache'])
  if (cache === undefined) return null
  return allOperations.map(({ id }) => {
    const path = ['operations', id, 'cache']
    const policy = parseAt(tree, operationCacheSchema, path)
    return (
      policy &&
      policy.maxEntry > cache.maxBytes && {
        path: [...path, 'maxEntry'],
        message: 'the cache has no room for such a response',
        expected: `at most cache.maxBytes, ${formatSize(cache.maxBytes)}`,
        found: formatSize(policy.maxEntry),
        hint: 'write less, or raise cache.maxBytes',
      }
    )
  })
}

export const rules: readonly ConfigRule[] = [entryFitsCache, redisRule(['cache', 'redis'])]
