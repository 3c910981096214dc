import type { Config } from '../../core/config/config.ts'
import { hashValue } from '../../core/config/config-hash.ts'
import { type PlacedProtections, type PrimaryFeature, protectOperations } from '../../core/runtime/primary-part.ts'
import type { AuthConfig, JwtConfig } from './config.ts'

export { preflight } from './tokens/preflight.ts'

// `auth.mtls` is not here: a rollback keeps it.
export const protections: PlacedProtections = {
  before: 'tls.verify',
  value: protectOperations('auth', ({ operations }, id) => operations[id].auth !== null, {
    path: 'auth',
    isOn: ({ auth }) => auth !== null,
  }),
}

/**
 * A key or a certificate that was replaced, and a client that was revoked or has another key, had a reason to go; the
 * new one is what every tool now sends.
 */
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
 * Tells whether the clients come back with authentication. A file without it lists none, which revokes none: that list
 * would lock all of them out. It names no file of clients either, so a client that was removed from one since is back.
 */
const bringsClientsBack = (current: Config, earlier: Config): boolean => current.auth === null && earlier.auth !== null

/**
 * Keeps the trust of today: the keys that stand in a file, with their algorithms, of the same issuer; and all settings
 * of certificates, because the clients that are kept were checked with them. The keys at a URL are those of today in
 * any case, and the URL may be the mistake that is undone.
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

/** Lists the key paths of what {@link keepTrust} keeps. */
const trustKeyPaths = ({ auth }: Config, { auth: earlier }: Config): readonly string[] => {
  if (auth === null || earlier === null) return []
  const keysDiffer = auth.jwt !== null && earlier.jwt !== null && hasDifferentKeys(auth.jwt, earlier.jwt)
  return ['auth.mtls', ...(keysDiffer ? ['auth.jwt.jwks', 'auth.jwt.algorithms'] : [])]
}
