import type { ListenConfig } from '../../config/config.ts'
import { Exchange } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { type HeaderFields, omitFields } from '../../exchange/header-fields.ts'
import { ClientBody } from '../body/client-body.ts'
import type { ActiveRequest } from './active-request.ts'
import { addForwardingFields } from './forwarding-headers.ts'
import type { MatchedRequest } from './match-request.ts'

/** `via` is the gateway's own hop. The body stays untouched. */
export const createExchange = (
  activeRequest: ActiveRequest,
  { operation, query, authority }: MatchedRequest,
  via: string,
): Exchange => {
  const { request, response, head, claims, snapshot, peer, requestId } = activeRequest
  const length = head.transferEncoding !== null ? null : Number(head.contentLength ?? 0)
  const body = new ClientBody(
    request,
    response,
    length,
    activeRequest.expectation !== 'continue',
    snapshot.config.listen,
  )
  const { fields } = head
  addForwardingFields(fields, claims?.fields ?? head.forwarded, peer, authority, via)
  if (claims !== null) fields.push('Forwarded', claims.render(peer.secure, authority))
  if (snapshot.config.requestId.header !== null) fields.push(snapshot.config.requestId.header, requestId)

  const exchange = new Exchange({
    requestId,
    operation,
    client: activeRequest.client,
    peer,
    query,
    fields,
    authority,
    body,
    onInterim: acceptsInterim(request.httpVersion, snapshot.config.listen)
      ? (status, fields) => writeInterim(activeRequest, status, fields)
      : null,
  })
  exchange.servedBy = snapshot
  exchange.interactionId = head.interactionId
  // Over HTTP/2 Node leaves out, and does not report, fields with a forbidden character (RFC 9113 §8.2.1).
  exchange.mayLackFields = request.multiplexed
  body.onFailure = (error) => exchange.abort(error)
  activeRequest.body = body
  activeRequest.exchange = exchange
  return exchange
}

/**
 * Returns whether a client is sent interim responses that it has not asked for. RFC 9110 §15.2 wants every client of
 * HTTP/1.1 to read them, but many take one for the final response: from then on each request on the connection gets the
 * response before its own.
 */
const acceptsInterim = (version: string, { interim }: ListenConfig): boolean =>
  version === '1.1' ? interim === 'relay' : version !== '1.0'

/** Writes an interim response as it came (RFC 9110 §15.2, RFC 8297). Throws `bad-answer` when it cannot be written. */
const writeInterim = ({ response, snapshot }: ActiveRequest, status: number, fields: HeaderFields): void => {
  if (response.headersSent) return
  const requestIdField = snapshot.config.requestId.header
  try {
    response.writeInterim(
      status,
      requestIdField === null ? fields : omitFields(fields, new Set([requestIdField.toLowerCase()])),
    )
  } catch (cause) {
    throw new GatewayError('bad-answer', { reason: 'answer-field', cause })
  }
}
