import type { OperationId } from '../catalog.ts'
import type { AuthConfig, DpopConfig, IntrospectionConfig, JwtConfig, OperationAuthConfig } from './auth-config.ts'
import type { ParsedConfig } from './schema.ts'

type ParsedAuth = NonNullable<ParsedConfig['auth']>

/** Resolves how it is found out who calls; null: nobody asks. */
export const authOf = (parsed: ParsedConfig['auth']): AuthConfig | null =>
  parsed && {
    methods: parsed.methods,
    apiKey: parsed.apiKey,
    jwt: parsed.jwt === undefined ? null : jwtOf(parsed.jwt),
    introspection: parsed.introspection === undefined ? null : introspectionOf(parsed.introspection),
    mtls: parsed.mtls,
    bound: parsed.bound,
    dpop: parsed.dpop && dpopOf(parsed.dpop),
    credentials: parsed.credentials,
    identityField: parsed.identityField,
  }

/** Resolves what an operation asks for, where all ask for `everywhere`; null: for nothing. */
export const operationAuthOf = (
  given: NonNullable<ParsedConfig['operations'][OperationId]>['auth'],
  everywhere: ParsedConfig['auth'],
): OperationAuthConfig | null => {
  if (given === null || everywhere === null) return null
  return { methods: given?.methods ?? everywhere.methods, scopes: given?.scopes ?? [], claims: given?.claims ?? {} }
}

const jwtOf = ({ clockTolerance, ...rest }: NonNullable<ParsedAuth['jwt']>): JwtConfig => ({
  ...rest,
  toleranceMs: clockTolerance,
})

const dpopOf = ({ algorithms, maxAge, clockTolerance, withoutRedis }: NonNullable<ParsedAuth['dpop']>): DpopConfig => ({
  algorithms,
  maxAgeMs: maxAge,
  toleranceMs: clockTolerance,
  withoutRedis: withoutRedis ?? 'refuse',
})

const introspectionOf = ({
  clockTolerance,
  timeout,
  cache,
  issuer,
  audience,
  ...rest
}: NonNullable<ParsedAuth['introspection']>): IntrospectionConfig => ({
  ...rest,
  issuer: issuer ?? null,
  audience: audience ?? null,
  timeoutMs: timeout,
  cacheMs: cache ?? 0,
  toleranceMs: clockTolerance,
})
