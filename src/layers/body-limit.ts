import type { Layer } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'

/**
 * Bounds the request body. A declared length over it is refused with nothing forwarded; a chunked body is counted while it streams
 * (RFC 9110 §15.5.14). Before the cache and the attempts, so that none of them sees an excess.
 */
export const bodyLimit =
  (maxBytes: number): Layer =>
  (next) =>
  (exchange) => {
    const { body } = exchange
    if (body.length !== null && body.length > maxBytes)
      return Promise.reject(new GatewayError('content-too-large', { reason: 'body-too-large-declared' }))
    body.maxBytes = maxBytes
    return next(exchange)
  }
