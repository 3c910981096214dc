import * as z from 'zod'
import { lowerFieldName } from '../schema/header-fields.ts'
import { partialShape } from '../schema/inheritance.ts'
import { InvalidScalar, scalar } from '../schema/scalar.ts'
import { boolean, choice, duration, durationOrZero, integer, size } from '../schema/scalar-types.ts'

const kibibyte = 1024
const mebibyte = 1024 ** 2

const policyShape = {
  header: lowerFieldName('The field of the key', 'Idempotency-Key').prefault('Idempotency-Key'),
  required: boolean('Whether a request without a key is answered 400').prefault(false),
  ttl: duration('How long what a key led to is remembered', { min: 1000, max: 31 * 24 * 3_600_000 }).prefault('24h'),
  maxKey: integer('Most characters of a key; a longer one is answered 400', { min: 16, max: 1024 }).prefault(255),
  maxBody: size('A longer request is hashed while it streams, and compared afterwards', {
    min: kibibyte,
    max: 16 * mebibyte,
  }).prefault('64KiB'),
  maxResponse: size('A longer answer is passed on and not kept: its repetition is answered 409', {
    min: kibibyte,
    max: mebibyte,
  }).prefault('64KiB'),
  wait: durationOrZero('How long a repetition waits for the first to end before it is answered 409', {
    min: 1,
    max: 30_000,
  }).prefault('none'),
  onUnknown: choice(
    'What becomes of a repetition when the outcome of the first is unknown: 409, or forwarded, since the upstream knows keys',
    ['refuse', 'forward'],
  ).prefault('refuse'),
  onStoreFailure: choice('What becomes of requests while nothing can be remembered: 503, or passed without a promise', [
    'refuse',
    'pass',
  ]).prefault('refuse'),
}

/** The schema of `idempotency`: what is the same for all operations that have it, and where it is remembered. */
export const idempotencySchema = z
  .strictObject({
    ...policyShape,
    maxKeysPerClient: integer('Most keys of one client that are remembered; the next is answered 429', {
      min: 1,
      max: 10_000_000,
    }).prefault(100_000),
    maxEntries: integer('Most keys that are remembered in memory, of all workers together', {
      min: 100,
      max: 10_000_000,
    }).prefault(200_000),
    maxBytes: size('Most memory of kept answers, of all workers together; the oldest are given up for others', {
      min: mebibyte,
      max: 1024 * 1024 * mebibyte,
    }).prefault('64MiB'),
  })
  .meta({ description: 'How a POST with a key happens once, in operations that have idempotency on' })

const idempotencySwitch = scalar<boolean>(
  {
    expected: 'true, false or { required: true, … }',
    parse: (value, fromVariable) => {
      if (typeof value === 'boolean') return value
      if (fromVariable && (value === 'true' || value === 'false')) return value === 'true'
      return new InvalidScalar('neither true nor false', 'write true for the defaults, or { required: true }')
    },
    render: () => false, // only null gets here: an operation that has it has a policy
    json: { type: 'boolean' },
  },
  'Whether a POST with a key happens once, as the defaults say',
)

/** The schema of `idempotency` of one operation: which keys differ from those of all. */
export const operationIdempotencySchema = z
  .union([idempotencySwitch, z.strictObject(partialShape(policyShape))])
  .meta({ description: 'Whether a POST with a key happens once; POST operations only' })

/** The keys that an operation may state itself. */
export const idempotencyPolicyKeys = Object.keys(policyShape) as readonly (keyof typeof policyShape)[]
