import type { Layer } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'

/**
 * Limits the size of the request body. A request with a declared length over the limit is rejected, and nothing is
 * forwarded; a chunked body is counted while it streams (RFC 9110 §15.5.14). The layer stands before the cache and the
 * attempts, so that none of them sees an excess.
 */
export const bodyLimitLayer =
  (maxBytes: number): Layer =>
  (next) =>
  (exchange) => {
    const { body } = exchange
    if (body.length !== null && body.length > maxBytes)
      return Promise.reject(new GatewayError('content-too-large', { reason: 'body-too-large-declared' }))
    body.maxBytes = maxBytes
    return next(exchange)
  }
