import * as z from 'zod'
import type { Config, DeepReadonly } from '../../core/config/config.ts'
import type { KeyNeed } from '../../core/config/problem.ts'
import { annotate, optionalKey } from '../../core/config/schema/annotations.ts'
import { certificate, privateKey } from '../../core/config/schema/credentials.ts'
import { optionalPolicy } from '../../core/config/schema/inheritance.ts'
import { scalar } from '../../core/config/schema/scalar.ts'
import { freeTextParser, InvalidScalar, patternKind, textParser } from '../../core/config/schema/scalar-kind.ts'
import { duration, list, map } from '../../core/config/schema/scalar-types.ts'
import { tryOrNull } from '../../core/lib/try.ts'

const parseRedisUrl = (value: string): URL | InvalidScalar => {
  const parsed = URL.parse(value)
  if (parsed === null || !/^rediss?:\/\/[^/]/i.test(value))
    return new InvalidScalar('not a URL of Redis', 'write redis://HOST:PORT, or rediss:// for TLS')
  if (parsed.hostname === '') return new InvalidScalar('a URL without a host')
  if (!/^(\/\d{0,5})?$/.test(parsed.pathname))
    return new InvalidScalar('a path that is not a database number', 'write /0')
  if (parsed.search !== '' || parsed.hash !== '')
    return new InvalidScalar('a URL with a query or a fragment', 'remove it')
  return parsed
}

const url = scalar<string>(
  'One server; rediss: for TLS. The URL may have a name and a password, and file:PATH reads it from a file',
  {
    expected: 'a URL such as redis://redis.internal:6379 or rediss://…, or file: and a path',
    parse: textParser((value) => {
      const parsed = parseRedisUrl(value)
      if (parsed instanceof InvalidScalar) return parsed
      return isDecodable(parsed) ? value : new InvalidScalar('a name or password with a broken percent-encoding')
    }),
    json: { type: 'string', pattern: '^(file:.+|[Rr][Ee][Dd][Ii][Ss][Ss]?://.+)$' },
    secret: true,
    file: 'line',
  },
)

const isDecodable = ({ username, password }: URL): boolean =>
  tryOrNull(() => decodeURIComponent(username + password)) !== null

const clusterNode = scalar<string>('A node', {
  expected: 'a URL such as redis://redis-1.internal:6379 or rediss://…',
  parse: textParser((value) => {
    const parsed = parseRedisUrl(value)
    if (parsed instanceof InvalidScalar) return parsed
    if (parsed.username !== '' || parsed.password !== '')
      return new InvalidScalar(
        'a URL with a name or a password',
        'write username: and password: file:PATH beside cluster',
      )
    if (Number(parsed.pathname.slice(1)) > 0)
      return new InvalidScalar('a cluster has database 0 alone', 'remove the path')
    return parsed.href
  }),
  json: { type: 'string', pattern: '^[Rr][Ee][Dd][Ii][Ss][Ss]?://[^@]+$' },
})

const sentinel = scalar<string>('A Sentinel', {
  expected: 'a host and a port, such as sentinel-1.internal:26379',
  parse: textParser((value) => {
    if (value.includes('://')) return new InvalidScalar('not a host and port', 'write HOST:PORT, without redis://')
    if (/[@/?#\\\s]/.test(value)) return new InvalidScalar('not a host and port')
    // `redis:` has no default port, so URL.parse keeps any port.
    const parsed = URL.parse(`redis://${value}`)
    if (parsed === null || parsed.hostname === '') return new InvalidScalar('not a host and port')
    return parsed.port === '' ? new InvalidScalar('a port is missing', `write ${value}:26379`) : value.toLowerCase()
  }),
  json: { type: 'string', pattern: '^[0-9A-Za-z._:\\[\\]-]+:[0-9]+$' },
})

const masterName = scalar(
  'The master’s name at the Sentinels',
  patternKind(
    'the name that the Sentinels have for the master, such as mymaster',
    '^[0-9A-Za-z_.-]{1,128}$',
    'not a name',
  ),
)

// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
const fileHint = 'write the name here, or ${NAME}: file: is for the password'

const username = (description: string) =>
  scalar<string>(description, {
    expected: '1 to 128 visible characters',
    parse: freeTextParser((value) => {
      if (value.startsWith('file:')) return new InvalidScalar('a path of a file', fileHint)
      return /^[\x21-\x7e]{1,128}$/.test(value) ? value : new InvalidScalar('not a name of a user')
    }),
    json: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$', not: { pattern: '^file:' } },
  })

const password = (description: string) =>
  scalar<string>(description, {
    expected: 'a password, or file: and a path',
    parse: freeTextParser((value) => (value === '' ? new InvalidScalar('empty') : value)),
    json: { type: 'string', minLength: 1 },
    secret: true,
    file: 'line',
  })

const tls = map(
  'TLS: with sentinels it is on when this key is there, otherwise when a URL begins with rediss:',
  {
    ca: optionalKey(certificate('Authorities to trust instead of the public ones; file:PATH for a file')),
    certificate: optionalKey(certificate('The gateway’s certificate, with its chain')),
    key: optionalKey(privateKey('The private key of the certificate')),
  },
  { sensitive: true },
)

const prefix = scalar(
  'The prefix of every key: gateways that count or store together have the same',
  patternKind('1 to 64 letters, digits and -_.:', '^[0-9A-Za-z_.:-]{1,64}$', 'not a prefix'),
)

export const redisPlaces = ['url', 'sentinels', 'cluster'] as const

/** {@link redisNeeds} and `rules.ts` say which keys go together. */
export const redisKeys = {
  url: optionalKey(url),
  sentinels: optionalKey(list('The Sentinels that know the master; needs name', sentinel, { min: 1, max: 20 })),
  name: optionalKey(masterName),
  cluster: optionalKey(list('Some nodes of a Redis Cluster: they know the others', clusterNode, { min: 1, max: 100 })),
  username: optionalKey(username('The user at the servers, where no URL names it')),
  password: optionalKey(password('The password of the user; file:PATH reads it from a file')),
  sentinelUsername: optionalKey(username('The user at the Sentinels')),
  sentinelPassword: optionalKey(password('The password at the Sentinels; file:PATH reads it from a file')),
  tls: optionalKey(tls),
}

export const redisNeeds: readonly KeyNeed[] = [
  ...['name', 'sentinelUsername', 'sentinelPassword'].map((key) => ({
    ...{ key, needs: 'sentinels', message: 'there are no Sentinels', found: key },
    hint: `add sentinels: [HOST:PORT], or remove ${key}`,
  })),
  {
    ...{ key: 'sentinels', needs: 'name', message: 'sentinels without the name of the master', found: 'no name' },
    hint: 'add name: mymaster, as the Sentinels have it',
  },
  ...[['username', 'password'] as const, ['sentinelUsername', 'sentinelPassword'] as const].map(([key, needs]) => ({
    ...{ key, needs, message: 'a user without a password', found: `${key} alone`, hint: `add ${needs}: file:PATH` },
  })),
]

/** In ajv's strict mode each required key must also be a property. */
const requireKeys = (...keys: readonly string[]) => ({
  required: keys,
  properties: Object.fromEntries(keys.map((key) => [key, { description: 'Needed' }])),
})

/** `otherwise`: what the gateway does without a timely reply of Redis. */
export const redisSchema = (description: string, otherwise: string, timeout: `${number}ms`) =>
  annotate(
    optionalPolicy(
      z
        .strictObject({
          ...redisKeys,
          timeout: duration(`Longest wait for a reply of Redis; then ${otherwise}`, { min: 1, max: 1000 }).prefault(
            timeout,
          ),
          prefix: prefix.prefault('lender-gateway'),
        })
        .meta({
          description,
          oneOf: [requireKeys('url'), requireKeys('sentinels', 'name'), requireKeys('cluster')],
        }),
      '{ url: file:/run/secrets/redis }',
    ),
    { sensitive: true },
  )

/** `records`: Redis must not evict them. */
export type RedisPurpose = 'counts' | 'responses' | 'records'

declare module '../../core/config/config-part.ts' {
  interface ConfigPart {
    /** Whether the feature uses the Redis of another feature's section. */
    usesRedis?(config: Config, purpose: RedisPurpose): boolean
  }
}

/** The URL may hold a password. */
export type RedisConfig = DeepReadonly<NonNullable<z.output<ReturnType<typeof redisSchema>>>>
