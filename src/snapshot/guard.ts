import type { AuthConfig, Config, OperationAuthConfig } from '../config/config.ts'
import type { AuthMethod } from '../failures/reasons.ts'
import { apiKey } from '../layers/auth/api-key.ts'
import type { AuthTerms } from '../layers/auth/auth.ts'
import type { ClaimsOf } from '../layers/auth/claims.ts'
import { type Clients, clientsOf } from '../layers/auth/clients.ts'
import type { KeysState } from '../layers/auth/jwt/keys.ts'
import { isJwt } from '../layers/auth/jwt/verify.ts'
import type { Method } from '../layers/auth/method.ts'
import { mtls } from '../layers/auth/mtls.ts'
import type { StandingState } from '../layers/auth/standing.ts'
import { tokenMethod } from '../layers/auth/token-method.ts'
import type { Limiters } from '../shared/limiter/limiters.ts'
import type { SeenState } from '../shared/once/once.ts'
import { type Bindings, bindingsOf } from './bindings.ts'
import type { TokenSources } from './token-sources.ts'

/** Makes what guards operations. */
export interface Guard {
  /** Makes what holds for an operation that asks for this. */
  terms(config: OperationAuthConfig): AuthTerms
  /** Tells how it stands with what tokens are checked by. */
  state(): GuardState
  /** Gives back what it stands on. */
  release(): void
}

/** Is how it stands with what tokens are checked by; null: none is needed. */
export interface GuardState {
  readonly jwt: KeysState | null
  readonly introspection: StandingState | null
  /** The memory of proofs; null also where another process has it. */
  readonly proofs: SeenState | null
}

/** Makes the guard of a configuration, once: its methods and clients are the same for all operations. */
export const guardOf = (
  { auth: config, clients: clientConfigs, listen, limits }: Pick<Config, 'auth' | 'clients' | 'listen' | 'limits'>,
  sources: TokenSources,
  limiters: Limiters,
): Guard => {
  if (config === null) return noGuard
  const clients = clientsOf(clientConfigs)
  const jwt = config.jwt && sources.holdJwt(config.jwt)
  const introspection = config.introspection && sources.holdIntrospection(config.introspection)
  const claimsOf = { jwt: jwt?.claimsOf ?? nothing, introspection: introspection?.claimsOf ?? nothing }
  const bindings = bindingsOf(config, { listen, limits }, limiters)
  return {
    terms: ({ methods, ...required }) => ({
      methods: methods.map((name) => methodOf(name, methods, config, clients, claimsOf, bindings)),
      forwards: config.credentials === 'forward',
      identityField: config.identityField,
      required,
      algorithms: bindings.algorithms,
    }),
    state: () => ({
      jwt: jwt?.state() ?? null,
      introspection: introspection?.state() ?? null,
      proofs: bindings.state(),
    }),
    release: () => {
      jwt?.release()
      introspection?.release()
      bindings.release()
    },
  }
}

const methodOf = (
  name: AuthMethod,
  among: readonly AuthMethod[],
  config: AuthConfig,
  clients: Clients,
  claimsOf: Readonly<Record<'jwt' | 'introspection', ClaimsOf>>,
  { certificateOf, certificateFields, confirm, algorithms }: Bindings,
): Method => {
  if (name === 'apiKey') return apiKey(config.apiKey.field, clients)
  if (name === 'mtls') return mtls(certificateOf, clients, certificateFields)
  // Where both are taken, what has the form of a JWT is verified here, and only what has another is asked about.
  const takes = name === 'jwt' && among.includes('introspection') ? isJwt : anything
  return tokenMethod({ name, claimsOf: claimsOf[name], takes, clients, confirm, algorithms })
}

const anything = (): boolean => true

/** Says of every token that it is none: the configuration is refused that would need it. */
const nothing: ClaimsOf = () => {
  throw new Error('not configured')
}

/** Guards nothing, where nothing will be served. */
export const noGuard: Guard = {
  terms: () => ({
    methods: [],
    forwards: true,
    identityField: null,
    required: { scopes: [], claims: {} },
    algorithms: null,
  }),
  state: () => ({ jwt: null, introspection: null, proofs: null }),
  release: () => {},
}
