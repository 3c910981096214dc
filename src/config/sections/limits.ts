import * as z from 'zod'
import { annotate } from '../schema/annotations.ts'
import { optionalPolicy } from '../schema/inheritance.ts'
import { InvalidScalar, scalar } from '../schema/scalar.ts'
import { duration, integer, optionalDuration, optionalInteger, requestRate } from '../schema/scalar-types.ts'

const expected = 'a URL such as redis://redis.internal:6379 or rediss://…, or file: and a path'

const url = annotate(
  scalar<string>(
    {
      expected,
      parse: (value) => {
        if (typeof value !== 'string') return new InvalidScalar('wrong type')
        const parsed = URL.parse(value)
        if (parsed === null || !/^rediss?:\/\/[^/]/i.test(value))
          return new InvalidScalar('not a URL of Redis', 'write redis://HOST:PORT, or rediss:// for TLS')
        if (parsed.hostname === '') return new InvalidScalar('a URL without a host')
        if (!/^(\/\d{0,5})?$/.test(parsed.pathname))
          return new InvalidScalar('a path that is no number of a database', 'write /0')
        if (parsed.search !== '' || parsed.hash !== '')
          return new InvalidScalar('a URL with a query or a fragment', 'remove it')
        return isDecodable(parsed) ? value : new InvalidScalar('a name or password with a broken percent-encoding')
      },
      json: { type: 'string', pattern: '^(file:.+|[Rr][Ee][Dd][Ii][Ss][Ss]?://.+)$' },
    },
    'Where it is; rediss: over TLS. It may carry a name and a password, and file:PATH reads it from a file',
  ),
  { secret: true, file: 'line' },
)

/** Tells whether user name and password can be decoded: the Redis library decodes them, and throws when it cannot. */
const isDecodable = ({ username, password }: URL): boolean => {
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

const prefix = scalar<string>(
  {
    expected: '1 to 64 letters, digits and -_.:',
    parse: (value) => {
      if (typeof value !== 'string') return new InvalidScalar('wrong type')
      return /^[\w.:-]{1,64}$/.test(value) ? value : new InvalidScalar('not a prefix')
    },
    json: { type: 'string', pattern: '^[0-9A-Za-z_.:-]{1,64}$' },
  },
  'What every key begins with: gateways that shall count or store together have the same',
)

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

/** The schema of a Redis. `otherwise` describes what the gateway does when Redis does not reply in time. */
export const redisSchema = (description: string, otherwise: string) =>
  annotate(
    optionalPolicy(
      z
        .strictObject({
          url,
          timeout: duration(`Longest wait for its answer; then ${otherwise}`, { min: 1, max: 1000 }).prefault('20ms'),
          prefix: prefix.prefault('lender-gateway'),
        })
        .meta({ description }),
      '{ url: file:/run/secrets/redis }',
    ),
    { sensitive: true },
  )

const redis = redisSchema('Redis or Valkey, by which several gateways count together', 'this gateway counts by itself')

const exchangeRange = { min: 1, max: 1_000_000 }

/** The schema of the limit on exchanges in flight, of one upstream or of one operation. */
export const concurrencySchema = optionalInteger(
  'Most exchanges in flight; what is beyond is answered 503 at once. All such bounds hold, none overrides another',
  exchangeRange,
)

/** The schema of `limits`, with the built-in values. */
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
