import * as z from 'zod'
import { addressLimit, redis } from './rate-limits.ts'
import { optionalDuration, optionalInteger } from './values.ts'

const exchanges = { min: 1, max: 1_000_000 }

/** Bounds the exchanges in flight of one upstream, or of one operation. */
export const concurrency = optionalInteger(
  'Most exchanges in flight; what is beyond is answered 503 at once. All such bounds hold, none overrides another',
  exchanges,
)

/** Describes what the gateway takes on at most; carries the built-in values. */
export const limitsSchema = z
  .strictObject({
    address: addressLimit.prefault('none'),
    redis: redis.prefault('none'),
    concurrency: optionalInteger(
      'Most exchanges in flight in all; what is beyond is answered 503 at once',
      exchanges,
    ).prefault(10_000),
    eventLoopDelay: optionalDuration('While the event loop is later than this, new exchanges are answered 503', {
      min: 10,
      max: 60_000,
    }).prefault('none'),
  })
  .meta({ description: 'What is taken on at most' })
