import { now } from '../../clock.ts'
import type { ProxyResponse } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { fieldNameEquals, getFirstFieldValue, type HeaderFields } from '../../header-fields.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import { ClientSink } from './client-sink.ts'
import { sendLocalReply } from './local-reply.ts'
import { awaitFlush } from './response-flush.ts'
import { sliceBody, sliceBytes } from './sliced-body.ts'

/**
 * Writes a response to the client: a body that has already arrived in one write, any other as it comes and as the
 * client takes it.
 */
export const relayResponse = (activeRequest: ActiveRequest, proxyResponse: ProxyResponse, via: string): void => {
  const { response } = activeRequest
  if (response.destroyed) return proxyResponse.body.discard() // layers may wait for its end
  const fields = buildResponseFields(activeRequest, proxyResponse, via)
  if (!writeHead(activeRequest, proxyResponse, fields)) return

  const buffered = proxyResponse.body.takeBuffered()
  if (buffered === null) {
    proxyResponse.body.consume(new ClientSink(activeRequest, proxyResponse.body))
    return response.flushHead()
  }
  // What is written at once is known to be taken only when all of it is: a client that reads a long one slowly would
  // pass for one that takes nothing. And TLS copies it, once for each client of a stored response.
  if (buffered.length > sliceBytes) {
    const sliced = sliceBody(buffered)
    return sliced.consume(new ClientSink(activeRequest, sliced))
  }
  activeRequest.bytesOut = buffered.length
  response.end(buffered)
  awaitFlush(activeRequest)
}

/**
 * Builds the response's fields: the upstream's end-to-end ones, and the few that docs/operations.md says the gateway
 * adds.
 */
const buildResponseFields = (activeRequest: ActiveRequest, proxyResponse: ProxyResponse, via: string): HeaderFields => {
  const { snapshot, requestId, head, body, draining, exchange } = activeRequest
  const requestIdField = snapshot.config.requestId.header
  const lowerRequestIdField = requestIdField?.toLowerCase()
  const fields: string[] = []
  for (let i = 0; i < proxyResponse.fields.length; i += 2) {
    const name = proxyResponse.fields[i] as string
    if (lowerRequestIdField !== undefined && fieldNameEquals(name, lowerRequestIdField)) continue
    // RFC 9110 §8.6: never on a 204.
    if (proxyResponse.status === 204 && fieldNameEquals(name, 'content-length')) continue
    fields.push(name, proxyResponse.fields[i + 1] as string)
  }
  fields.push('Via', via)
  if (requestIdField !== null) fields.push(requestIdField, requestId)
  if (exchange !== null && exchange.addedResponseFields !== null) fields.push(...exchange.addedResponseFields)
  if (head.interactionId !== null && getFirstFieldValue(proxyResponse.fields, 'x-fapi-interaction-id') === undefined)
    fields.push('x-fapi-interaction-id', head.interactionId)
  // Where the response came before the request was complete, what is still on its way is not another request.
  const unread = body?.received === false
  if (unread || draining()) activeRequest.response.markLast(activeRequest, unread)
  return fields
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
