import type { DescribedField, DescribeOperation } from '../../core/admin/admin-part.ts'
import type { Config, ListenConfig, OperationConfig } from '../../core/config/config.ts'
import type { FailureKind } from '../../core/exchange/failures/kinds.ts'
import type { PlainObject } from '../../core/lib/plain-object.ts'
import { isTokenMethod } from './config.ts'

/** The security schemes. A token of one method may come bound or not. */
type SchemeName = 'apiKey' | 'bearerJwt' | 'bearer' | 'dpop' | 'mtls'

type Auth = NonNullable<Config['auth']>
type OperationAuth = NonNullable<OperationConfig['auth']>

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

/** `identity-unavailable`: the check depends on a server, or on the memory of proofs. */
const listFailures = ({ methods }: OperationAuth, { jwt, dpop }: Auth): readonly FailureKind[] =>
  methods.includes('introspection') ||
  (methods.includes('jwt') && (dpop !== null || (jwt !== null && 'url' in jwt.jwks)))
    ? ['unauthenticated', 'forbidden', 'identity-unavailable']
    : ['unauthenticated', 'forbidden']

const challenge: DescribedField = {
  layer: 'auth',
  field: 'WWW-Authenticate',
  component: 'WWWAuthenticate',
  header: { description: 'What is to be proved, and how (RFC 9110 §11.6.1).', schema: { type: 'string' } },
}

const proof = {
  name: 'DPoP',
  in: 'header',
  description: 'The proof of possession beside a bound token (RFC 9449 §4).',
  schema: { type: 'string' },
}

const securitySchemes = ({ apiKey, mtls }: Auth): Readonly<Record<SchemeName, PlainObject>> => ({
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
 * Security requirements of OpenAPI: each method in the file's order, and for tokens each kind of binding. Scopes stand
 * beside the scheme of the token.
 */
const securityAlternatives = (
  { methods, scopes }: OperationAuth,
  { bound, dpop, mtls }: Auth,
  { tls }: ListenConfig,
): readonly Readonly<Record<string, readonly string[]>>[] => {
  const takesCertificates = mtls.from === 'client-cert' || (tls !== null && tls.clientCertificates !== 'none')
  const ofToken = (name: SchemeName) => {
    if (bound !== 'required') return [{ [name]: scopes }]
    return takesCertificates ? [{ [name]: scopes, mtls: [] }] : []
  }
  const byMethod = {
    apiKey: [{ apiKey: [] }],
    jwt: ofToken('bearerJwt'),
    introspection: ofToken('bearer'),
    mtls: [{ mtls: [] }],
  }
  return [
    ...methods.flatMap((name) => byMethod[name]),
    ...(methods.some(isTokenMethod) && dpop !== null ? [{ dpop: scopes }] : []),
  ]
}
