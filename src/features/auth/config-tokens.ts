import * as z from 'zod'
import type { AdminConfig } from '../../core/config/config.ts'
import type { OperatorKey } from '../../core/config/config-part.ts'
import { annotate, escapePlaceholders, optionalKey, Secret } from '../../core/config/schema/annotations.ts'
import { scalar } from '../../core/config/schema/scalar.ts'
import {
  freeTextParser,
  InvalidScalar,
  patternKind,
  type ScalarKind,
  textParser,
} from '../../core/config/schema/scalar-kind.ts'
import {
  choice,
  duration,
  durationOrZero,
  keySchema,
  list,
  map,
  reject,
} from '../../core/config/schema/scalar-types.ts'
import { isLoopbackHost } from '../../core/lib/net/addresses.ts'
import { operatorScopes } from '../../core/lib/operators.ts'
import { type JwsAlgorithm, jwsAlgorithms, parseJwkSet } from './tokens/jwk-set.ts'

/** A server's URL, or the text of a file. */
type JwksSource = { readonly url: string } | { readonly text: string }

const urlExample = 'a URL such as https://login.example/…'

/** Authentic, because an impostor of this server could admit any client. */
const parseServerUrl = (value: string): string | InvalidScalar => {
  const parsed = URL.parse(value)
  if (parsed === null || !/^https?:\/\/[^/]/i.test(value)) return new InvalidScalar('not a URL', `write ${urlExample}`)
  if (parsed.username !== '' || parsed.password !== '') return new InvalidScalar('a URL with a user name or a password')
  if (parsed.hash !== '') return new InvalidScalar('a URL with a fragment', 'remove it')
  if (parsed.protocol !== 'https:' && !isLoopbackHost(parsed.hostname))
    return new InvalidScalar('not encrypted', 'write https://; http:// is allowed for this machine only')
  return parsed.href
}

/** A query may hold a key, so a URL with one is masked like a secret; a change of it is still reported. */
const renderServerUrl = (url: string): string | Secret =>
  url.includes('?') ? new Secret(url) : escapePlaceholders(url)

const serverUrl = (description: string) =>
  scalar<string>(description, {
    expected: urlExample,
    parse: textParser(parseServerUrl),
    render: renderServerUrl,
    json: { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://.+$' },
  })

const jwksSource = scalar<JwksSource>('The issuer’s keys, as a JWK Set: a URL, or file:PATH', {
  expected: `${urlExample}, or file: and a path`,
  parse: textParser((value) => {
    if (!/^\s*[{[]/.test(value)) {
      const url = parseServerUrl(value)
      return url instanceof InvalidScalar ? url : { url }
    }
    return parseKeySetText(value)
  }),
  // Public, but too long to print. A secret's change is still reported.
  render: (source) => ('url' in source ? renderServerUrl(source.url) : new Secret(source.text)),
  json: { type: 'string', pattern: '^(file:.+|[Hh][Tt][Tt][Pp][Ss]?://.+)$' },
  file: 'lines',
})

const parseKeySetText = (text: string): JwksSource | InvalidScalar => {
  try {
    const { size } = parseJwkSet(text, null)
    if (size > 0) return { text }
    return new InvalidScalar('a key set without a public key that can be used', 'use public keys of RSA, EC or Ed25519')
  } catch (error) {
    return new InvalidScalar('not a key set', error instanceof Error ? error.message : undefined)
  }
}

const lineKind = (what: string): ScalarKind<string> => ({
  expected: `${what}: 1 to 1024 visible characters`,
  parse: freeTextParser((value) =>
    /^[\x20-\x7e]{1,1024}$/.test(value) && value.trim() === value ? value : new InvalidScalar(`not ${what}`),
  ),
  json: { type: 'string', minLength: 1, maxLength: 1024 },
})

const issuer = scalar('The issuer, as in the claim iss; compared exactly', lineKind('an issuer'))
const audience = list(
  'Audiences; the claim aud must have one of them',
  scalar('An audience', lineKind('an audience')),
  { min: 1, max: 32 },
)

export const algorithmSchema = choice<JwsAlgorithm>('An algorithm', jwsAlgorithms)

const tokenType = scalar<string>('A type', {
  expected: 'a media type, without application/, such as at+jwt',
  parse: textParser((value) => {
    const bare = value.toLowerCase().replace(/^application\//, '')
    return /^[a-z0-9!#$&^_.+-]{1,64}$/.test(bare) ? bare : new InvalidScalar('not a type')
  }),
  json: { type: 'string', pattern: '^[0-9A-Za-z!#$&^_.+/-]+$' },
})

const clockTolerance = duration('Largest difference between the clocks of issuer and gateway', {
  min: 0,
  max: 300_000,
}).prefault('5s')

export const jwtSchema = map('Access tokens that are signed JWTs', {
  issuer,
  audience,
  jwks: jwksSource,
  algorithms: list(
    'Algorithms that a token may be signed with. RS256 is for issuers without a better one',
    algorithmSchema,
    {
      min: 1,
    },
  ).prefault(['PS256', 'ES256', 'EdDSA', 'Ed25519']),
  types: list('Allowed values of typ', tokenType, { min: 1, max: 8 }).prefault(['at+jwt']),
  clockTolerance,
})

export const introspectionSchema = map(
  'Access tokens that an authorization server introspects',
  {
    url: serverUrl('URL of the introspection endpoint (RFC 7662)'),
    clientId: scalar('The gateway’s client id at that server', lineKind('a client id')),
    clientSecret: annotate(
      scalar('The gateway’s client secret at that server; file:PATH reads it from a file', lineKind('a secret')),
      {
        secret: true,
        file: 'line',
      },
    ),
    issuer: optionalKey(issuer),
    audience: optionalKey(audience),
    timeout: duration('Longest wait for the response', { min: 10, max: 30_000 }).prefault('2s'),
    cache: durationOrZero('How long a result is cached; a revoked token is accepted for that long', {
      min: 1000,
      max: 600_000,
    }).prefault('30s'),
    clockTolerance,
  },
  { sensitive: true },
)

const claimNamePattern = '^[0-9A-Za-z_.:/-]{1,128}$'

const claimNameKind: ScalarKind<string> = {
  expected: '1 to 128 letters, digits and -_.:/',
  parse: textParser((value) =>
    // `__proto__` is rejected: claim names index the list of clients.
    new RegExp(claimNamePattern).test(value) && value !== '__proto__'
      ? value
      : new InvalidScalar('not the name of a claim'),
  ),
  json: { type: 'string', pattern: claimNamePattern },
}

const claimNameSchema = (description: string) => scalar(description, claimNameKind)

// RFC 6749 §3.3.
export const scopeSchema = scalar(
  'A scope',
  patternKind(
    'a scope: visible characters but blanks, " and \\',
    '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,128}$',
    'not a scope',
    'one a line, or in a list',
  ),
)

export const claimsSchema = z
  .record(
    keySchema(claimNameKind).meta({ pattern: claimNamePattern }),
    scalar('The value of the claim', lineKind('the value of a claim')),
  )
  .meta({
    description:
      'Claims that a token of this client has, all of them. If several clients fit, the client with the most claims counts',
  })

// Names of groups and roles may have blanks and slashes: `Gateway on call`, `/ops/gateway`.
const claimValue = keySchema({
  expected: '1 to 256 visible characters',
  parse: textParser((value) =>
    /^[\x20-\x7e]{1,256}$/.test(value) && value.trim() === value && value !== '__proto__'
      ? value
      : new InvalidScalar('not the value of a claim'),
  ),
}).meta({ minLength: 1, maxLength: 256 })

const maxScopes = 100

const scopes = z
  .record(
    claimValue,
    choice(
      'What the value allows. metrics: /metrics and /whoami; read: all that is shown; operate: commands too',
      operatorScopes,
    ),
  )
  .check((context) => {
    const count = Object.keys(context.value).length
    const hint = 'write { VALUE: read }'
    if (count === 0) reject(context, 'an empty map gives no token access', 'at least one entry', hint)
    if (count > maxScopes) reject(context, 'too many entries', `at most ${maxScopes}`, hint)
  })
  .meta({
    minProperties: 1,
    maxProperties: maxScopes,
    description:
      'What each value of scopeClaim allows. A token with none of them is rejected; of several, the highest counts',
  })

/** Checked like `auth.jwt`. */
export const operatorJwtSchema = map('Tokens of operators that an issuer makes: signed JWTs', {
  ...jwtSchema.shape,
  nameClaim: claimNameSchema('The claim with the operator’s name. Operators must not be able to change it').prefault(
    'sub',
  ),
  scopeClaim: claimNameSchema('The claim whose values stand in scopes').prefault('scope'),
  scopes,
})

declare module '../../core/config/config.ts' {
  interface ParsedAdmin {
    readonly jwt: z.output<typeof operatorJwtSchema> | null
  }
}

export type OperatorJwtConfig = NonNullable<AdminConfig['jwt']>

export const operatorKeys: readonly OperatorKey[] = [
  {
    key: 'jwt',
    after: 'tokens',
    schema: optionalKey(operatorJwtSchema),
    scopes: ({ jwt }) =>
      Object.entries(jwt?.scopes ?? {}).map(([value, scope]) => ({ path: ['admin', 'jwt', 'scopes', value], scope })),
  },
]
