import { rejectTunnel } from '../../core/downstream/http1/request-line.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { knownMethods } from '../../core/exchange/node-http.ts'

interface StreamClaims {
  readonly method: string | undefined
  readonly scheme: string | undefined
  readonly target: string
  readonly hasBadField: boolean
}

export const validateStream = ({ method, scheme, target, hasBadField }: StreamClaims): GatewayError | null => {
  // RFC 9113 §8.5: CONNECT has no scheme or path. The gateway never offers extended CONNECT (RFC 8441).
  const tunnel = rejectTunnel(method)
  if (tunnel !== null) return tunnel
  // As on HTTP/1, unknown methods get no list of those allowed. HTTP/2 comes only over TLS.
  if (scheme !== 'https' || method === undefined || !knownMethods.has(method))
    return new GatewayError('bad-request', { reason: 'bad-pseudo-field' })
  if (hasBadField) return new GatewayError('bad-request', { reason: 'bad-field' })
  // nghttp2 and HPACK accept bytes that must be encoded (RFC 3986 §2); the HTTP/1 parser does not.
  return isEncoded.test(target) ? null : new GatewayError('bad-request', { reason: 'bad-target' })
}

const isEncoded = /^[\x21-\x7e]*$/
