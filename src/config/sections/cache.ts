import * as z from 'zod'
import { list } from '../schema/collections.ts'
import { lowerFieldName } from '../schema/header-fields.ts'
import { policySwitch } from '../schema/inheritance.ts'
import { mebibyte } from '../schema/scalar-kinds.ts'
import { boolean, durationOrZero, optionalDuration, size } from '../schema/scalar-types.ts'
import { redisSchema } from './redis.ts'

/** The schema of `cache`: the store that all cached operations share. */
export const cacheSchema = z
  .strictObject({
    maxBytes: size('Most memory of what is stored, of all operations and workers together', {
      min: mebibyte,
    }).prefault('64MiB'),
    credentials: list(
      'Fields in which clients send credentials, beside Authorization and Cookie: what carries one is not answered from what is stored',
      lowerFieldName('A field name; case does not matter', 'X-Api-Key'),
      { max: 20 },
    ).prefault(['X-Api-Key']),
    redis: redisSchema(
      'Redis or Valkey, where gateways find what one of them has stored',
      'this gateway has what it has stored itself',
    ).prefault('none'),
  })
  .meta({ description: 'What is stored of operations that have cache on' })

const policy = z
  .strictObject({
    maxEntry: size('A longer answer is passed on, and not stored', { min: 1024, max: 1024 * mebibyte }).prefault(
      '1MiB',
    ),
    shared: boolean(
      'Whether requests with credentials may be answered from what is stored, as far as the answer allows it',
    ).prefault(false),
    heuristic: boolean('Whether an answer with Last-Modified that says nothing of its freshness has some').prefault(
      false,
    ),
    staleIfError: optionalDuration(
      'How long after its freshness an answer may stand in for a failure; an answer that says so itself is believed',
    ).prefault('none'),
    staleWhileRevalidate: optionalDuration(
      'How long after its freshness an answer is served while a newer one is fetched; an answer that says so itself is believed',
    ).prefault('none'),
    staleWhenDisconnected: durationOrZero(
      'How long after its freshness an answer is served while the upstream cannot be reached',
    ).prefault('60s'),
  })
  .meta({ description: 'How answers are stored, and when they are used' })

const cacheSwitch = policySwitch(
  'Whether answers are stored, as the defaults say',
  '{ maxEntry: …, … }',
  '{ staleIfError: 10m }',
)

/** The schema of `cache` of one operation; null: it is not cached. */
export const operationCacheSchema = z
  .union([cacheSwitch, policy])
  .transform((given) => (given === true ? policy.parse({}) : given === false ? null : given))
  .meta({ description: 'Whether answers are stored and used again (RFC 9111); GET operations only' })
