import * as z from 'zod'
import type { Config } from '../../core/config/config.ts'
import type {
  ConfigPart,
  ConfigSection,
  OperationKey,
  PolicyKey,
  ResolveOperation,
  ResolveUpstream,
} from '../../core/config/config-part.ts'
import type { ConfigRule, WarningRule } from '../../core/config/rules/rule.ts'
import { optionalPolicy } from '../../core/config/schema/inheritance.ts'
import { integer, map, optionalDuration, optionalInteger } from '../../core/config/schema/scalar-types.ts'
import { allOperations, groups } from '../../operations.ts'
import { requestRate } from '../auth/clients/config.ts'
import { redisSchema } from '../redis/config.ts'
import { isRedisUsed, redisRule } from '../redis/rules.ts'

const addressLimit = optionalPolicy(
  z
    .strictObject({
      rate: requestRate('Most requests a second (100/s) or a minute (30/min)'),
      burst: integer('Most requests at once; default: the number in rate', { min: 1, max: 1_000_000 }).optional(),
      ipv6Prefix: integer('Number of leading bits of an IPv6 address that are counted as one client', {
        min: 32,
        max: 128,
      }).prefault(64),
    })
    .transform(({ rate, burst, ipv6Prefix }) => ({ rate, burst: burst ?? rate.count, ipv6Prefix }))
    .meta({ description: 'How many requests one address may send; further ones get 429' }),
  '{ rate: 100/s }',
)

const redis = redisSchema(
  'Redis or Valkey, by which several gateways count together',
  'this gateway counts alone',
  '20ms',
)

const exchangeRange = { min: 1, max: 1_000_000 }

const concurrencySchema = optionalInteger(
  'Most exchanges in flight; further requests get 503 at once. All such limits apply; none overrides another',
  exchangeRange,
)

const limitsSchema = map('Limits of requests and exchanges', {
  address: addressLimit.prefault('none'),
  redis: redis.prefault('none'),
  concurrency: optionalInteger(
    'Most exchanges in flight in all; further requests get 503 at once',
    exchangeRange,
  ).prefault(10_000),
  eventLoopDelay: optionalDuration('While the event loop is later than this, new requests get 503', {
    min: 10,
    max: 60_000,
  }).prefault('none'),
})

declare module '../../core/config/config.ts' {
  interface ParsedConfig {
    readonly limits: z.output<typeof limitsSchema>
  }
  interface ParsedDefaults {
    readonly concurrency: number | null
  }
  interface ParsedUpstream {
    readonly concurrency?: number | null | undefined
  }
  interface UpstreamConfig {
    readonly concurrency: number | null
  }
  interface ParsedOperation {
    readonly concurrency?: number | null
  }
  interface OperationConfig {
    readonly concurrency: number | null
  }
}

export type LimitsConfig = Config['limits']
export type AddressLimitConfig = NonNullable<LimitsConfig['address']>

export const sections: readonly ConfigSection[] = [
  { key: 'limits', after: 'listen', schema: limitsSchema.prefault({}) },
]

const ofOperations = concurrencySchema.prefault('none')

export const operationKeys: readonly OperationKey[] = [
  { key: 'concurrency', order: 1, get: ofOperations, post: ofOperations },
]

export const policyKeys: readonly PolicyKey[] = [
  { key: 'concurrency', after: 'maxPending', schema: concurrencySchema.prefault('none') },
]

export const resolveUpstream: ResolveUpstream = ({ concurrency }, defaults) => ({
  concurrency: concurrency === undefined ? defaults.concurrency : concurrency,
})

export const resolveOperation: ResolveOperation = (stated) => ({ concurrency: stated?.concurrency ?? null })

export const rules: readonly ConfigRule[] = [redisRule(['limits', 'redis'])]

const unusedRedis: WarningRule = ({ config }) =>
  config.limits.redis !== null &&
  config.limits.address === null &&
  config.clients.every(({ rate }) => rate === null) &&
  !isRedisUsed(config, 'counts') && {
    path: ['limits', 'redis'],
    message: 'this does nothing: nothing is counted',
    expected: 'limits.address, the rate of a client or auth.dpop, or no limits.redis',
    found: 'none of them',
    hint: 'add address: { rate: … } under limits, or remove redis',
  }

export const dividedLimits: Required<ConfigPart>['dividedLimits'] = ({
  parsed: { defaults, upstreams },
  config: { limits, operations, clients },
  processes,
}) => {
  const isInherited = groups.some((group) => upstreams[group].concurrency === undefined)
  // Names only the first of possibly thousands of clients.
  const client = clients.findIndex(({ concurrency }) => concurrency !== null && concurrency < processes)
  return [
    [['limits', 'concurrency'], limits.concurrency],
    [['defaults', 'concurrency'], isInherited ? defaults.concurrency : null],
    ...groups.map((group) => [['upstreams', group, 'concurrency'], upstreams[group].concurrency] as const),
    ...allOperations.map(({ id }) => [['operations', id, 'concurrency'], operations[id].concurrency] as const),
    [['clients', client, 'concurrency'], clients[client]?.concurrency],
  ]
}

export const warnings: readonly WarningRule[] = [unusedRedis]
