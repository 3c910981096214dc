import * as z from 'zod'
import { mark } from './facts.ts'
import { orOff } from './levels.ts'
import { scalar, Wrong } from './scalar.ts'
import { duration, integer, optionalDuration, optionalInteger, rate } from './values.ts'

const expected = 'a URL such as redis://redis.internal:6379 or rediss://…, or file: and a path'

const url = mark(
  scalar<string>(
    {
      expected,
      read: (value) => {
        if (typeof value !== 'string') return new Wrong('wrong type')
        const parsed = URL.parse(value)
        if (parsed === null || !/^rediss?:\/\/[^/]/i.test(value))
          return new Wrong('not a URL of Redis', 'write redis://HOST:PORT, or rediss:// for TLS')
        if (parsed.hostname === '') return new Wrong('a URL without a host')
        if (!/^(\/\d{0,5})?$/.test(parsed.pathname))
          return new Wrong('a path that is no number of a database', 'write /0')
        if (parsed.search !== '' || parsed.hash !== '')
          return new Wrong('a URL with a query or a fragment', 'remove it')
        return isDecodable(parsed) ? value : new Wrong('a name or password with a broken percent-encoding')
      },
      json: { type: 'string', pattern: '^(file:.+|[Rr][Ee][Dd][Ii][Ss][Ss]?://.+)$' },
    },
    'Where it is; rediss: over TLS. It may carry a name and a password, and file:PATH reads it from a file',
  ),
  { secret: true, file: 'line' },
)

/** The library decodes them, and throws when it cannot. */
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
    read: (value) => {
      if (typeof value !== 'string') return new Wrong('wrong type')
      return /^[\w.:-]{1,64}$/.test(value) ? value : new Wrong('not a prefix')
    },
    json: { type: 'string', pattern: '^[0-9A-Za-z_.:-]{1,64}$' },
  },
  'What every key begins with: gateways that shall count or store together have the same',
)

const addressLimit = orOff(
  z
    .strictObject({
      rate: rate('How many requests a second (100/s) or a minute (30/min)'),
      burst: integer('How many at once; default: the number in rate', { min: 1, max: 1_000_000 }).optional(),
      ipv6Prefix: integer('Of an IPv6 address so many bits are counted as one', { min: 32, max: 128 }).prefault(64),
    })
    .transform(({ rate, burst, ipv6Prefix }) => ({ rate, burst: burst ?? rate.count, ipv6Prefix }))
    .meta({ description: 'How often one address may ask; what is beyond is answered 429' }),
  '{ rate: 100/s }',
)

/** Describes a Redis: what for, and what is done when it does not answer in time. */
export const redisAt = (description: string, otherwise: string) =>
  mark(
    orOff(
      z
        .strictObject({
          url,
          timeout: duration(`Longest wait for its answer; then ${otherwise}`, { min: 1, max: 1000 }).prefault('20ms'),
          prefix: prefix.prefault('lender-gateway'),
        })
        .meta({ description }),
      '{ url: file:/run/secrets/redis }',
    ),
    { unquoted: true },
  )

const redis = redisAt('Redis or Valkey, by which several gateways count together', 'this gateway counts by itself')

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
