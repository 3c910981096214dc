import type * as z from 'zod'
import type { Config, DeepReadonly, OperationConfig } from '../../core/config/config.ts'
import type { ConfigSection, OperationKey, ResolveOperation } from '../../core/config/config-part.ts'
import type { KeyPath } from '../../core/config/problem.ts'
import { listAt } from '../../core/config/rules/rule.ts'
import { annotate, optionalKey } from '../../core/config/schema/annotations.ts'
import { optionalCertificate } from '../../core/config/schema/credentials.ts'
import { fieldName, optionalFieldName } from '../../core/config/schema/header-fields.ts'
import { optionalPolicy } from '../../core/config/schema/inheritance.ts'
import { choice, duration, list, map } from '../../core/config/schema/scalar-types.ts'
import { allOperations } from '../../operations.ts'
import { clientsKey } from './clients/config.ts'
import { showsClients } from './clients/serialize-clients.ts'
import { algorithmSchema, claimsSchema, introspectionSchema, jwtSchema, scopeSchema } from './config-tokens.ts'

const methodNames = ['apiKey', 'jwt', 'introspection', 'mtls'] as const

export const authMethodsSchema = list(
  'Methods of authentication; the first whose credential is in the request decides',
  choice('A method of authentication', methodNames),
  { min: 1 },
)

const apiKey = map('Keys made with lender-gateway hash-key', {
  field: fieldName('The field that carries the key', 'X-Api-Key').prefault('X-Api-Key'),
})

export const mtlsSchema = map('Certificates of clients', {
  from: choice(
    "Where a client's certificate comes from: its connection, or the Client-Cert field of listen.trustedProxies",
    ['connection', 'client-cert'],
  ).prefault('connection'),
  ca: annotate(
    optionalCertificate('The authorities that may issue the certificate in Client-Cert; file:PATH for a file'),
    {
      sensitive: false, // no secret belongs beside it that could be written here by mistake
    },
  ).prefault('none'),
})

const bound = choice(
  'required: a token bound to neither a certificate nor a key is rejected. A bound token always needs its certificate or proof',
  ['none', 'required'],
)

const dpop = optionalPolicy(
  map('Proofs of possession (DPoP, RFC 9449); needs listen.publicUrl', {
    algorithms: list('Algorithms that proofs may be signed with', algorithmSchema, { min: 1 }).prefault([
      'ES256',
      'PS256',
      'EdDSA',
      'Ed25519',
    ]),
    maxAge: duration('Greatest age of a proof. Each proof is remembered for this time and the tolerance', {
      min: 1000,
      max: 300_000,
    }).prefault('60s'),
    clockTolerance: duration('Largest difference between the clocks of clients and gateway', {
      min: 0,
      max: 60_000,
    }).prefault('5s'),
    withoutRedis: choice(
      'A proof while Redis does not reply, so that another gateway may have had it: reject it with 503, or serve it if it is new to this gateway',
      ['reject', 'serve'],
    ).prefault('reject'),
  }),
  '{ maxAge: 60s }',
)

export const authSchema = optionalPolicy(
  map('How clients authenticate; none: their credentials are forwarded unchecked', {
    methods: authMethodsSchema,
    apiKey: apiKey.prefault({}),
    jwt: optionalKey(jwtSchema),
    introspection: optionalKey(introspectionSchema),
    mtls: mtlsSchema.prefault({}),
    bound: bound.prefault('none'),
    dpop: dpop.prefault('none'),
    credentials: choice('Whether upstreams get the credentials that were checked here', ['forward', 'strip']).prefault(
      'strip',
    ),
    identityField: optionalFieldName(
      'The field that names the client to upstreams; clients’ own fields of this name are removed',
      'X-Client-Id',
    ).prefault('none'),
  }),
  '{ methods: [apiKey] }',
)

export const operationAuthSchema = optionalPolicy(
  map('Who may call this operation', {
    methods: optionalKey(authMethodsSchema),
    scopes: list('Scopes that a token must have, all of them', scopeSchema, { max: 32 }).prefault([]),
    claims: claimsSchema.prefault({}).meta({ description: 'Claims that a token must have, all of them' }),
  }),
  '{ methods: [apiKey] }',
)

type ParsedAuth = z.output<typeof operationAuthSchema>

declare module '../../core/config/config.ts' {
  interface ParsedConfig {
    readonly auth: z.output<typeof authSchema>
  }
  interface ParsedOperation {
    readonly auth?: ParsedAuth | undefined
  }
  interface OperationConfig {
    readonly auth: (NonNullable<DeepReadonly<ParsedAuth>> & { readonly methods: AuthConfig['methods'] }) | null
  }
}

export type AuthConfig = NonNullable<Config['auth']>
export type OperationAuthConfig = NonNullable<OperationConfig['auth']>
export type JwtConfig = NonNullable<AuthConfig['jwt']>
/** `cache` 0: each request is introspected. */
export type IntrospectionConfig = NonNullable<AuthConfig['introspection']>

export const sections: readonly ConfigSection[] = [
  { key: 'auth', after: 'listen', schema: authSchema.prefault('none') },
  clientsKey,
]

export const withoutFiles = { clients: [], clientsSource: { parts: [], digest: '' } }

/** Clients that the report omits are one value with a digest, like a secret: a change is still reported. */
export const digests = (config: Config) =>
  showsClients(config) ? null : { clients: config.clientsSource.digest.slice(0, 12) }

export const loadInclude = async () => (await import('./clients/client-list.ts')).includeFiles

const ofOperations = operationAuthSchema.optional()

export const operationKeys: readonly OperationKey[] = [
  { key: 'auth', order: 2, get: ofOperations, post: ofOperations, isInherited: true },
]

export const resolveOperation: ResolveOperation = (stated, { auth }) => {
  const given = stated?.auth
  if (given === null || auth === null) return { auth: null }
  return { auth: { methods: given?.methods ?? auth.methods, scopes: given?.scopes ?? [], claims: given?.claims ?? {} } }
}

export { operatorKeys } from './config-tokens.ts'

const authMethodPaths: readonly KeyPath[] = [
  ['auth', 'methods'],
  ...allOperations.map(({ id }): KeyPath => ['operations', id, 'auth', 'methods']),
]

/** A missing list is empty. */
export const authMethodLists = (tree: unknown) => authMethodPaths.map((path) => ({ path, names: listAt(tree, path) }))

export const isTokenMethod = (name: unknown): name is 'jwt' | 'introspection' =>
  name === 'jwt' || name === 'introspection'
