import * as z from 'zod'
import type { Config } from '../../core/config/config.ts'
import type { ConfigSection, OperationKey, ResolveOperation } from '../../core/config/config-part.ts'
import { optionalKey } from '../../core/config/schema/annotations.ts'
import { lowerFieldName } from '../../core/config/schema/header-fields.ts'
import { mergeLevels, partialShape, policySwitch } from '../../core/config/schema/inheritance.ts'
import { scalar } from '../../core/config/schema/scalar.ts'
import { freeTextParser, InvalidScalar } from '../../core/config/schema/scalar-kind.ts'
import {
  boolean,
  choice,
  day,
  duration,
  durationOrZero,
  forbiddenKey,
  integer,
  list,
  map,
  mebibyte,
  size,
} from '../../core/config/schema/scalar-types.ts'
import { redisSchema } from '../redis/config.ts'

const policyShape = {
  header: lowerFieldName('The field of the key', 'Idempotency-Key').prefault('Idempotency-Key'),
  required: boolean('Whether a request without a key gets 400').prefault(false),
  ttl: duration('How long a key and its response are stored', { min: 1000, max: 31 * day }).prefault('24h'),
  maxKey: integer('Most characters of a key; a request with a longer one gets 400', { min: 16, max: 1024 }).prefault(
    255,
  ),
  maxBody: size('A longer request is hashed while it streams, and compared afterwards', {
    min: 1024,
    max: 16 * mebibyte,
  }).prefault('64KiB'),
  maxResponse: size('A longer response is forwarded and not stored: a repetition gets 409', {
    min: 1024,
    max: mebibyte,
  }).prefault('64KiB'),
  wait: durationOrZero('How long a repetition waits for the first request to end before the repetition gets 409', {
    min: 1,
    max: 30_000,
  }).prefault('none'),
  onUnknown: choice(
    'A repetition when the outcome of the first request is unknown: rejected with 409, or forwarded, because the upstream recognizes keys',
    ['reject', 'forward'],
  ).prefault('reject'),
  onStoreFailure: choice('Requests while keys cannot be stored: rejected with 503, or passed without protection', [
    'reject',
    'pass',
  ]).prefault('reject'),
}

const keyBytes = 32

/** 32 bytes in base64 or hex; returns base64. */
const parseEncryptionKey = (text: string): string | InvalidScalar => {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex').toString('base64')
  const bytes = Buffer.from(text, 'base64')
  return /^[A-Za-z0-9+/]{43}=$/.test(text) && bytes.length === keyBytes
    ? text
    : new InvalidScalar('not 32 bytes', 'make one: openssl rand -base64 32')
}

const encryptionKey = scalar<string>('A key; file:PATH reads it from a file', {
  expected: 'file: and a path; there 32 bytes in base64 or hex',
  parse: freeTextParser(parseEncryptionKey),
  json: { type: 'string' },
  secret: true,
  file: 'line',
})

export const idempotencySchema = map('How a POST with a key is processed once, in operations with idempotency', {
  ...policyShape,
  maxKeysPerClient: integer('Most stored keys of one client; a request with a further key gets 429', {
    min: 1,
    max: 10_000_000,
  }).prefault(100_000),
  maxEntries: integer('Most keys in memory, of all workers together', {
    min: 100,
    max: 10_000_000,
  }).prefault(200_000),
  maxBytes: size('Most memory for stored responses, of all workers together; newer responses replace the oldest', {
    min: mebibyte,
  }).prefault('64MiB'),
  redis: redisSchema(
    'Redis or Valkey, which stores keys for several gateways, and over restarts',
    'onStoreFailure decides',
    '500ms', // a POST should wait rather than be rejected because the network was busy
  ).prefault('none'),
  replicas: optionalKey(
    integer(
      'How many replicas must have a key before its request is forwarded; default: 1 with sentinels or cluster, else 0',
      { min: 0, max: 5 },
    ),
  ),
  encryptionKeys: list('Keys that encrypt responses in Redis: the first encrypts, both decrypt', encryptionKey, {
    max: 2,
    sensitive: true,
  }).prefault([]),
})

const idempotencySwitch = policySwitch(
  'Whether a POST with a key is processed once, by the defaults',
  '{ required: true, … }',
  '{ required: true }',
)

const operationIdempotencySchema = z
  .union([idempotencySwitch, z.strictObject(partialShape(policyShape))])
  .meta({ description: 'Whether a POST with a key is processed once; POST operations only' })

export type IdempotencyConfig = Config['idempotency']
/** `wait` 0: a repetition does not wait. */
export type OperationIdempotencyConfig = Pick<IdempotencyConfig, keyof typeof policyShape>

declare module '../../core/config/config.ts' {
  interface ParsedConfig {
    readonly idempotency: z.output<typeof idempotencySchema>
  }
  interface ParsedOperation {
    readonly idempotency?: z.output<typeof operationIdempotencySchema>
  }
  interface OperationConfig {
    readonly idempotency: OperationIdempotencyConfig | null
  }
}

export const sections: readonly ConfigSection[] = [
  { key: 'idempotency', before: 'metrics', schema: idempotencySchema.prefault({}) },
]

export const operationKeys: readonly OperationKey[] = [
  {
    key: 'idempotent',
    order: 5,
    get: forbiddenKey('there is no such key any more', 'remove this line: a GET needs no key').optional(),
    post: forbiddenKey(
      'it is part of idempotency now',
      'write idempotency: { onUnknown: forward } instead of idempotent: true',
    ).optional(),
  },
  {
    key: 'idempotency',
    order: 6,
    get: forbiddenKey('only POST operations have keys', 'remove this line').optional(),
    post: operationIdempotencySchema.prefault(false),
  },
]

/** Omitted keys are inherited from the top level. */
export const resolveOperation: ResolveOperation = (stated, { idempotency }) => {
  const given = stated?.idempotency ?? false
  if (given === false) return { idempotency: null }
  const policy = Object.fromEntries(
    Object.keys(policyShape).map((key) => [key, idempotency[key as keyof typeof policyShape]]),
  ) as OperationIdempotencyConfig
  return { idempotency: mergeLevels<OperationIdempotencyConfig>(given === true ? {} : given, policy) }
}
