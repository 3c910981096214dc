import type { Config } from '../../core/config/config.ts'
import { hashValue } from '../../core/config/transfer-parts.ts'
import { type PlacedProtections, type PrimaryFeature, protectOperations } from '../../core/runtime/primary-part.ts'
import type { AuthConfig, JwtConfig } from './config.ts'

export const preflight: Required<PrimaryFeature>['preflight'] = async (...edit) =>
  (await import('./tokens/preflight.ts')).preflightIssuers(...edit)

export const protections: PlacedProtections = {
  before: 'tls.verify',
  value: protectOperations('auth', ({ operations }, id) => operations[id].auth !== null, {
    path: 'auth',
    isOn: ({ auth }) => auth !== null,
  }),
}

/** After a rollback, the current keys, certificates and clients stay: each was replaced or revoked for a reason. */
export const keepCredentials: Required<PrimaryFeature>['keepCredentials'] = (current, earlier) => {
  const isBack = bringsClientsBack(current, earlier)
  const { clients, clientsSource } = isBack ? earlier : current
  const auth = earlier.auth && current.auth ? keepTrust(current.auth, earlier.auth) : earlier.auth
  return {
    settings: { auth, clients, clientsSource },
    paths: [...(isBack ? [] : ['clients']), ...trustKeyPaths(current, earlier)],
    isSame: hashValue([auth]) === hashValue([earlier.auth]) && clientsSource.digest === earlier.clientsSource.digest,
  }
}

/**
 * A file without `auth` has no clients, and its empty list would lock all clients out. It names no client files either,
 * so a client removed from such a file since then comes back.
 */
const bringsClientsBack = (current: Config, earlier: Config): boolean => current.auth === null && earlier.auth !== null

/**
 * Keeps certificate settings, and the same issuer's keys and algorithms if they are in a file: the current clients were
 * checked with them. Keys at a URL are current anyway, and the URL may be the mistake to undo.
 */
const keepTrust = ({ jwt, mtls }: AuthConfig, earlier: AuthConfig): AuthConfig => ({
  ...earlier,
  jwt: earlier.jwt && jwt && hasDifferentKeys(jwt, earlier.jwt) ? { ...earlier.jwt, ...pickSigning(jwt) } : earlier.jwt,
  mtls,
})

const hasDifferentKeys = (current: JwtConfig, earlier: JwtConfig): boolean =>
  current.issuer === earlier.issuer &&
  'text' in current.jwks &&
  'text' in earlier.jwks &&
  current.jwks.text !== earlier.jwks.text

const pickSigning = ({ jwks, algorithms }: JwtConfig): Pick<JwtConfig, 'jwks' | 'algorithms'> => ({ jwks, algorithms })

const trustKeyPaths = ({ auth }: Config, { auth: earlier }: Config): readonly string[] => {
  if (auth === null || earlier === null) return []
  const keysDiffer = auth.jwt !== null && earlier.jwt !== null && hasDifferentKeys(auth.jwt, earlier.jwt)
  return ['auth.mtls', ...(keysDiffer ? ['auth.jwt.jwks', 'auth.jwt.algorithms'] : [])]
}
