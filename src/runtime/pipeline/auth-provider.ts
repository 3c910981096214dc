import type { AuthConfig, Config, OperationAuthConfig } from '../../config/config.ts'
import type { AuthMethod } from '../../failures/reasons.ts'
import { apiKeyAuthenticator } from '../../layers/auth/api-key.ts'
import type { AuthOptions } from '../../layers/auth/auth.ts'
import type { Authenticator } from '../../layers/auth/authenticator.ts'
import type { GetClaims } from '../../layers/auth/claims.ts'
import { type ClientRegistry, getClientRegistry } from '../../layers/auth/client-registry.ts'
import type { DependencyHealthState } from '../../layers/auth/dependency-health.ts'
import type { IssuerKeysState } from '../../layers/auth/jwt/jwks-cache.ts'
import { isJwt } from '../../layers/auth/jwt/jwt-verifier.ts'
import { mtlsAuthenticator } from '../../layers/auth/mtls.ts'
import { tokenAuthenticator } from '../../layers/auth/token-authenticator.ts'
import type { RateLimiterRegistry } from '../../shared/rate-limiter/rate-limiter-registry.ts'
import type { ReplayWindowState } from '../../shared/replay-cache.ts'
import type { TokenVerifiers } from '../resources/token-verifiers.ts'
import { createTokenBindingChecker, type TokenBindingChecker } from './token-binding.ts'

/** Makes what guards operations. */
export interface AuthProvider {
  /** Makes what holds for an operation that asks for this. */
  authOptions(config: OperationAuthConfig): AuthOptions
  /** Tells how it stands with what tokens are checked by. */
  state(): AuthProviderState
  /** Gives back what it stands on. */
  release(): void
}

/** Is how it stands with what tokens are checked by; null: none is needed. */
export interface AuthProviderState {
  readonly jwt: IssuerKeysState | null
  readonly introspection: DependencyHealthState | null
  /** The memory of proofs; null also where another process has it. */
  readonly proofs: ReplayWindowState | null
}

/** Makes the guard of a configuration, once: its methods and clients are the same for all operations. */
export const createAuthProvider = (
  { auth: config, clients: clientConfigs, listen, limits }: Pick<Config, 'auth' | 'clients' | 'listen' | 'limits'>,
  tokenVerifiers: TokenVerifiers,
  limiters: RateLimiterRegistry,
): AuthProvider => {
  if (config === null) return nullAuthProvider
  const clients = getClientRegistry(clientConfigs)
  const jwt = config.jwt && tokenVerifiers.acquireJwt(config.jwt)
  const introspection = config.introspection && tokenVerifiers.acquireIntrospection(config.introspection)
  const verifiers = { jwt: jwt?.getClaims ?? rejectToken, introspection: introspection?.getClaims ?? rejectToken }
  const tokenBinding = createTokenBindingChecker(config, { listen, limits }, limiters)
  return {
    authOptions: ({ methods, ...required }) => ({
      authenticators: methods.map((name) =>
        createAuthenticator(name, methods, config, clients, verifiers, tokenBinding),
      ),
      forwardsCredentials: config.credentials === 'forward',
      identityField: config.identityField,
      required,
      algorithms: tokenBinding.algorithms,
    }),
    state: () => ({
      jwt: jwt?.state() ?? null,
      introspection: introspection?.state() ?? null,
      proofs: tokenBinding.state(),
    }),
    release: () => {
      jwt?.release()
      introspection?.release()
      tokenBinding.release()
    },
  }
}

const createAuthenticator = (
  name: AuthMethod,
  configured: readonly AuthMethod[],
  config: AuthConfig,
  clients: ClientRegistry,
  verifiers: Readonly<Record<'jwt' | 'introspection', GetClaims>>,
  { getCertificate, certificateFields, confirm, algorithms }: TokenBindingChecker,
): Authenticator => {
  if (name === 'apiKey') return apiKeyAuthenticator(config.apiKey.field, clients)
  if (name === 'mtls') return mtlsAuthenticator(getCertificate, clients, certificateFields)
  // Where both are taken, what has the form of a JWT is verified here, and only what has another is asked about.
  const takes = name === 'jwt' && configured.includes('introspection') ? isJwt : acceptAnyToken
  return tokenAuthenticator({
    name,
    getClaims: verifiers[name],
    accepts: takes,
    clients,
    checkSenderConstraint: confirm,
    algorithms,
  })
}

const acceptAnyToken = (): boolean => true

/** Says of every token that it is none: the configuration is refused that would need it. */
const rejectToken: GetClaims = () => {
  throw new Error('not configured')
}

/** Guards nothing, where nothing will be served. */
export const nullAuthProvider: AuthProvider = {
  authOptions: () => ({
    authenticators: [],
    forwardsCredentials: true,
    identityField: null,
    required: { scopes: [], claims: {} },
    algorithms: null,
  }),
  state: () => ({ jwt: null, introspection: null, proofs: null }),
  release: () => {},
}
