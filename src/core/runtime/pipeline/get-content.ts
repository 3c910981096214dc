import { WholeBody } from '../../exchange/bodies/buffered-request-body.ts'
import type { Exchange, Layer } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'

/**
 * Rejects a GET that has content. It means nothing (RFC 9110 §9.3.1), and back ends are known that do not read it: on
 * a connection that is used again, they take it for the next request. What comes in chunks has content if there is one
 * before the last; where there is none, the request goes on as one without a body.
 */
export const rejectGetContentLayer: Layer = (next) => (exchange) => {
  const { length } = exchange.body
  if (length === 0) return next(exchange)
  return length === null ? awaitEmptyBody(exchange).then(() => next(exchange)) : Promise.reject(contentError())
}

/** Waits until the body has ended without a byte. Rejects at its first one. */
const awaitEmptyBody = async (exchange: Exchange): Promise<void> => {
  const upload = exchange.body.stream((waitsForClient) => {
    exchange.waitsForClient = waitsForClient
  })
  const { done } = await upload[Symbol.asyncIterator]().next()
  upload.stop()
  if (done !== true) throw contentError()
  exchange.body = new WholeBody(Buffer.alloc(0))
}

const contentError = (): GatewayError => new GatewayError('bad-request', { reason: 'get-content' })
