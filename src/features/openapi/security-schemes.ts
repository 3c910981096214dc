import type { Config, ListenConfig, OperationConfig } from '../../core/config/config.ts'
import type { PlainObject } from '../../core/lib/plain-object.ts'

/** The ways to authenticate that a client can choose from. A token of one method may come bound or not. */
type SchemeName = 'apiKey' | 'bearerJwt' | 'bearer' | 'dpop' | 'mtls'

type Auth = NonNullable<Config['auth']>

export const securitySchemes = ({ apiKey, mtls }: Auth): Readonly<Record<SchemeName, PlainObject>> => ({
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
 * Lists the alternatives of an operation, as security requirements of OpenAPI: each method of the file, in its order,
 * and for tokens each way in which they may be bound. Scopes stand beside the scheme of the token.
 */
export const securityAlternatives = (
  { methods, scopes }: NonNullable<OperationConfig['auth']>,
  { bound, dpop, mtls }: Auth,
  { tls }: ListenConfig,
): readonly Readonly<Partial<Record<SchemeName, readonly string[]>>>[] => {
  const takesCertificates = mtls.from === 'client-cert' || (tls !== null && tls.clientCertificates !== 'none')
  const ofToken = (name: 'bearerJwt' | 'bearer') => {
    if (bound !== 'required') return [{ [name]: scopes }]
    return takesCertificates ? [{ [name]: scopes, mtls: [] }] : []
  }
  const byMethod = {
    apiKey: [{ apiKey: [] }],
    jwt: ofToken('bearerJwt'),
    introspection: ofToken('bearer'),
    mtls: [{ mtls: [] }],
  }
  const takesTokens = methods.includes('jwt') || methods.includes('introspection')
  return [...methods.flatMap((name) => byMethod[name]), ...(takesTokens && dpop !== null ? [{ dpop: scopes }] : [])]
}
