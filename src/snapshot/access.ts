import type { AuthConfig, JwtConfig } from '../config/auth-config.ts'
import type { Config } from '../config/config.ts'
import { hashOf, hashOfSettings } from '../config/hash.ts'

/**
 * Makes an earlier configuration that lets in whom the current one lets in. A token, a key or a certificate that was replaced, and a client that
 * was revoked or has another key, had a reason to go; the new one is what every tool now sends.
 */
export const withAccessOf = (current: Config, earlier: Config): Config => {
  const { admin, clients, clientsSource } = current
  const listen = { ...earlier.listen, tls: current.listen.tls }
  const auth = earlier.auth && current.auth && withTrustOf(current.auth, earlier.auth)
  const same = hashOf([admin, listen, auth]) === hashOf([earlier.admin, earlier.listen, earlier.auth])
  if (same && clientsSource.digest === earlier.clientsSource.digest) return earlier
  const { hash: _, ...settings } = { ...earlier, admin, listen, auth: auth ?? earlier.auth, clients, clientsSource }
  return Object.freeze({ hash: hashOfSettings(settings), ...settings })
}

/**
 * Keeps what is believed: the keys that stand in a file, with what they sign, of the same issuer; and all that is said of certificates, because the
 * clients that are kept were checked with it. The keys at a URL are those of today in any case, and it may be the mistake that is undone.
 */
const withTrustOf = ({ jwt, mtls }: AuthConfig, earlier: AuthConfig): AuthConfig => ({
  ...earlier,
  jwt: earlier.jwt && jwt && haveOtherKeys(jwt, earlier.jwt) ? { ...earlier.jwt, ...signingOf(jwt) } : earlier.jwt,
  mtls,
})

const haveOtherKeys = (current: JwtConfig, earlier: JwtConfig): boolean =>
  current.issuer === earlier.issuer &&
  'text' in current.jwks &&
  'text' in earlier.jwks &&
  current.jwks.text !== earlier.jwks.text

const signingOf = ({ jwks, algorithms }: JwtConfig): Pick<JwtConfig, 'jwks' | 'algorithms'> => ({ jwks, algorithms })
