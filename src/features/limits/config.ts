import * as z from 'zod'
import { optionalPolicy } from '../../core/config/schema/inheritance.ts'
import { integer, optionalDuration, optionalInteger, requestRate } from '../../core/config/schema/scalar-types.ts'
import { redisSchema } from '../redis/config.ts'

const addressLimit = optionalPolicy(
  z
    .strictObject({
      rate: requestRate('How many requests a second (100/s) or a minute (30/min)'),
      burst: integer('How many at once; default: the number in rate', { min: 1, max: 1_000_000 }).optional(),
      ipv6Prefix: integer('Of an IPv6 address so many bits are counted as one', { min: 32, max: 128 }).prefault(64),
    })
    .transform(({ rate, burst, ipv6Prefix }) => ({ rate, burst: burst ?? rate.count, ipv6Prefix }))
    .meta({ description: 'How often one address may ask; what is beyond is answered 429' }),
  '{ rate: 100/s }',
)

const redis = redisSchema('Redis or Valkey, by which several gateways count together', 'this gateway counts by itself')

const exchangeRange = { min: 1, max: 1_000_000 }

export const concurrencySchema = optionalInteger(
  'Most exchanges in flight; what is beyond is answered 503 at once. All such bounds hold, none overrides another',
  exchangeRange,
)

export const limitsSchema = z
  .strictObject({
    address: addressLimit.prefault('none'),
    redis: redis.prefault('none'),
    concurrency: optionalInteger(
      'Most exchanges in flight in all; what is beyond is answered 503 at once',
      exchangeRange,
    ).prefault(10_000),
    eventLoopDelay: optionalDuration('While the event loop is later than this, new exchanges are answered 503', {
      min: 10,
      max: 60_000,
    }).prefault('none'),
  })
  .meta({ description: 'What is taken on at most' })
