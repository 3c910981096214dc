import type { AuthConfig } from '../config/auth-config.ts'
import type { Config } from '../config/config.ts'
import { hashOf, hashOfSettings } from '../config/resolve.ts'

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
 * Keeps what is believed: the keys of the same issuer with what they sign, the secret for the same server, and all that is said of certificates,
 * because the clients that are kept were checked with it.
 */
const withTrustOf = ({ jwt, introspection, mtls }: AuthConfig, earlier: AuthConfig): AuthConfig => ({
  ...earlier,
  jwt:
    earlier.jwt && jwt?.issuer === earlier.jwt.issuer
      ? { ...earlier.jwt, jwks: jwt.jwks, algorithms: jwt.algorithms }
      : earlier.jwt,
  introspection:
    earlier.introspection && introspection?.url === earlier.introspection.url
      ? { ...earlier.introspection, clientId: introspection.clientId, clientSecret: introspection.clientSecret }
      : earlier.introspection,
  mtls,
})
