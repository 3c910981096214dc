import { BytesBody } from '../../exchange/bodies/bytes-body.ts'
import type { Exchange, ProxyResponse } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { type HeaderFields, toClientFields } from '../../exchange/header-fields.ts'
import { sliceBytes } from '../../lib/buffers.ts'
import { now } from '../../lib/clock.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import { ClientSink } from './client-sink.ts'
import { sendLocalReply } from './local-reply.ts'
import { awaitFlush } from './response-flush.ts'

/**
 * Writes a response to the client: a body that has already arrived in one write, any other as it comes and as the
 * client takes it.
 */
export const relayResponse = (
  activeRequest: ActiveRequest,
  exchange: Exchange,
  proxyResponse: ProxyResponse,
  via: string,
): void => {
  const { response, snapshot, body } = activeRequest
  if (response.destroyed) return proxyResponse.body.discard() // layers may wait for its end
  const { status } = proxyResponse
  const fields = toClientFields(exchange, status, proxyResponse.fields, snapshot.config.requestId.header, via)
  // Where the response came before the request was complete, what is still on its way is not another request.
  const unread = body?.received === false
  if (unread || activeRequest.isDraining) response.markLast(activeRequest, unread)
  if (!writeHead(activeRequest, proxyResponse, fields)) return

  const buffered = proxyResponse.body.takeBuffered()
  if (buffered === null) {
    proxyResponse.body.consume(new ClientSink(activeRequest, proxyResponse.body))
    return response.flushHead()
  }
  if (buffered.length > sliceBytes) {
    const sliced = new BytesBody(buffered)
    return sliced.consume(new ClientSink(activeRequest, sliced))
  }
  activeRequest.bytesOut = buffered.length
  response.end(buffered)
  awaitFlush(activeRequest)
}

/** Writes the head; false: the upstream sent something that cannot be written, and the client has been sent a 502. */
const writeHead = (
  activeRequest: ActiveRequest,
  { status, reason, body }: ProxyResponse,
  fields: HeaderFields,
): boolean => {
  try {
    activeRequest.response.writeFields(status, reason, fields)
    activeRequest.firstByteMs = now() - activeRequest.startedAt
    return true
  } catch (cause) {
    const failure = new GatewayError('bad-answer', { reason: 'answer-field', cause })
    sendLocalReply(activeRequest, failure)
    body.discard() // it has no recipient, and layers may wait for its end; first, as the attempt has not failed
    activeRequest.abort(failure)
    return false
  }
}
