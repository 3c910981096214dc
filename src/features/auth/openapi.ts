import type { DescribedField, DescribeOperation } from '../../core/admin/admin-part.ts'
import type { ListenConfig } from '../../core/config/config.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import { type AuthConfig, isTokenMethod, type OperationAuthConfig } from './config.ts'

export const describe: DescribeOperation = ({ id }, { auth, operations, listen }) => {
  const own = operations[id].auth
  if (auth === null || own === null) return {}
  return {
    failures: listFailures(own, auth),
    problemFields: (kinds) =>
      kinds.includes('unauthenticated') || (kinds.includes('forbidden') && own.scopes.length > 0) ? [challenge] : [],
    parameters: own.methods.some(isTokenMethod) && auth.dpop !== null ? [{ component: 'DPoP', value: proof }] : [],
    security: { schemes: securitySchemes(auth), alternatives: securityAlternatives(own, auth, listen) },
  }
}

/** `identity-unavailable`: the check needs a server, or the memory of proofs. */
const listFailures = ({ methods }: OperationAuthConfig, { jwt, dpop }: AuthConfig): readonly FailureKind[] =>
  methods.includes('introspection') ||
  (methods.includes('jwt') && (dpop !== null || (jwt !== null && 'url' in jwt.jwks)))
    ? ['unauthenticated', 'forbidden', 'identity-unavailable']
    : ['unauthenticated', 'forbidden']

const challenge: DescribedField = {
  layer: 'auth',
  field: 'WWW-Authenticate',
  component: 'WWWAuthenticate',
  header: { description: 'The credentials that the operation accepts (RFC 9110 §11.6.1).', schema: { type: 'string' } },
}

const proof = {
  name: 'DPoP',
  in: 'header',
  description: 'The proof of possession beside a bound token (RFC 9449 §4).',
  schema: { type: 'string' },
}

const securitySchemes = ({ apiKey, mtls }: AuthConfig) => ({
  apiKey: { type: 'apiKey', in: 'header', name: apiKey.field, description: 'A key: its id, a dot and its secret.' },
  bearerJwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token (RFC 6750).' },
  bearer: { type: 'http', scheme: 'bearer', description: 'An access token of any form (RFC 6750).' },
  dpop: {
    type: 'http',
    scheme: 'DPoP',
    description: 'An access token that is bound to a key, with a proof in the field DPoP (RFC 9449).',
  },
  mtls: {
    type: 'mutualTLS',
    description:
      mtls.from === 'connection'
        ? 'A client certificate, in the TLS handshake.'
        : 'A client certificate, in the TLS handshake with the proxy in front.',
  },
})

/**
 * Methods in the file's order, and a token's method once for each kind of binding. Scopes stand beside a token's
 * scheme.
 */
const securityAlternatives = ({ methods, scopes }: OperationAuthConfig, auth: AuthConfig, { tls }: ListenConfig) => {
  const { bound, dpop, mtls } = auth
  const takesCertificates = mtls.from === 'client-cert' || (tls !== null && tls.clientCertificates !== 'none')
  const ofToken = (name: string): readonly Readonly<Record<string, readonly string[]>>[] => {
    if (bound !== 'required') return [{ [name]: scopes }]
    return takesCertificates ? [{ [name]: scopes, mtls: [] }] : []
  }
  const [jwt, introspection] = [ofToken('bearerJwt'), ofToken('bearer')]
  const byMethod = { apiKey: [{ apiKey: [] }], jwt, introspection, mtls: [{ mtls: [] }] }
  return [
    ...methods.flatMap((name) => byMethod[name]),
    ...(methods.some(isTokenMethod) && dpop !== null ? [{ dpop: scopes }] : []),
  ]
}
