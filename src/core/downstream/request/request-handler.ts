import type { Operation } from '../../../operations.ts'
import type { ListenConfig } from '../../config/config.ts'
import { Exchange } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { type HeaderFields, omitFields } from '../../exchange/header-fields.ts'
import { now } from '../../lib/clock.ts'
import { prepareWrite } from '../../lib/turn-writes.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { ClientBody } from '../body/client-body.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import type { CompiledListenerConfig, GetListenerConfig } from '../listener/listener-config.ts'
import { relayResponse, sendLocalReply } from '../response/send-response.ts'
import { ActiveRequest, type ClientConnection, getClientConnection, type ListenerState } from './active-request.ts'
import { addForwardingFields } from './forwarded.ts'
import { type MatchedRequest, validateRequest } from './validate-request.ts'

export interface RequestHandlerOptions {
  readonly currentSnapshot: CurrentSnapshot
  readonly getListenerConfig: GetListenerConfig
  readonly pseudonym: string
  readonly state: ListenerState
}

/** `operation` is the one at the path, perhaps with another method. */
export type RequestHandler = (
  request: DownstreamRequest,
  response: DownstreamResponse,
  operation: Operation | null,
) => void

type ResponseQueue = Pick<ClientConnection, 'peer' | 'activeRequests' | 'closing'>

export const createRequestHandler = ({
  currentSnapshot,
  getListenerConfig,
  pseudonym,
  state,
}: RequestHandlerOptions): RequestHandler => {
  const responseVia = `1.1 ${pseudonym}`

  const trackRequest = (activeRequest: ActiveRequest, { activeRequests }: ResponseQueue): void => {
    const { response, snapshot, peer } = activeRequest
    activeRequests.push(activeRequest)
    peer.inFlight++
    snapshot.acquire()
    response.on('close', () => {
      if (activeRequests.length === 1) activeRequests.pop()
      else advanceQueue(activeRequests, activeRequest)
      peer.inFlight--
      if (!response.writableFinished) {
        activeRequest.failure ??= explainEnd(response, state)
        activeRequest.abort(activeRequest.failure)
      }
      activeRequest.exchange?.finish()
      snapshot.release()
      if (activeRequest.exchange?.bodySent === true) activeRequest.body?.freeBuffers()
      activeRequest.totalMs = now() - activeRequest.startedAt
      for (const observer of snapshot.observers) observer.record(activeRequest)
    })
  }

  return (request, response, operation) => {
    const listenerConfig = getListenerConfig()
    const queue = getResponseQueue(request, listenerConfig, state.isDraining)
    const { peer, closing } = queue
    const snapshot = currentSnapshot.value
    const activeRequest = new ActiveRequest(request, response, snapshot, peer, listenerConfig, state, closing)
    trackRequest(activeRequest, queue)
    const fail = (error: unknown): void => {
      activeRequest.exchange?.releaseSlots()
      sendLocalReply(activeRequest, GatewayError.from(error))
    }
    try {
      const { matchesAuthority } = listenerConfig
      const matchOptions = { matchesAuthority, pseudonym, secure: peer.secure }
      const matched =
        request.validate() ??
        activeRequest.claims?.error ??
        validateRequest(activeRequest, listenerConfig.config.listen, matchOptions, operation)
      if (matched instanceof GatewayError) return sendLocalReply(activeRequest, matched)
      const exchange = createExchange(activeRequest, matched, `${request.httpVersion} ${pseudonym}`)
      activeRequest.snapshot.handlers[exchange.operation.id](exchange).then(
        (proxyResponse) => prepareWrite(() => relayResponse(activeRequest, exchange, proxyResponse, responseVia)),
        fail,
      )
    } catch (error) {
      fail(error) // Fastify would send no response: the reply is hijacked
    }
  }
}

const explainEnd = ({ fault }: DownstreamResponse, { isCutting }: ListenerState): GatewayError => {
  if (fault != null) return new GatewayError('client-gone', { reason: 'broken-stream', cause: fault })
  return new GatewayError('client-gone', isCutting ? { reason: 'shutdown-deadline' } : {})
}

const getResponseQueue = (
  { multiplexed, socket }: DownstreamRequest,
  listenerConfig: CompiledListenerConfig,
  isDraining: boolean,
): ResponseQueue => {
  const connection = getClientConnection(socket, listenerConfig)
  if (multiplexed) return { peer: connection.peer, activeRequests: [], closing: false }
  // Otherwise a client that always has a request on its way keeps a draining gateway from exiting.
  connection.closing = isDraining || ++connection.requestCount >= listenerConfig.maxRequestsPerConnection
  return connection
}

/** The next response, which may be written already, becomes the head of the line. */
const advanceQueue = (activeRequests: ActiveRequest[], activeRequest: ActiveRequest): void => {
  activeRequests.splice(activeRequests.indexOf(activeRequest), 1)
  const [next] = activeRequests
  const onHeadOfLine = next?.onHeadOfLine
  if (next === undefined || onHeadOfLine == null) return
  next.onHeadOfLine = null
  onHeadOfLine()
}

const createExchange = (
  activeRequest: ActiveRequest,
  { operation, query, authority }: MatchedRequest,
  via: string,
): Exchange => {
  const { request, response, head, claims, snapshot, peer, requestId } = activeRequest
  const length = head.transferEncoding !== null ? null : Number(head.contentLength ?? 0)
  const clientMaySend = activeRequest.expectation !== 'continue'
  const body = new ClientBody(request, response, length, clientMaySend, snapshot.config.listen)
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
  exchange.mayLackFields = request.mayLackFields === true
  body.onFailure = (error) => exchange.abort(error)
  activeRequest.body = body
  activeRequest.exchange = exchange
  return exchange
}

/**
 * RFC 9110 §15.2 requires HTTP/1.1 clients to read interim responses, but many take one for the final response: then
 * each later request gets the response to the previous one.
 */
const acceptsInterim = (version: string, { interim }: ListenConfig): boolean =>
  version === '1.1' ? interim === 'relay' : version !== '1.0'

const writeInterim = ({ response, snapshot }: ActiveRequest, status: number, fields: HeaderFields): void => {
  if (response.headersSent) return
  const ownField = snapshot.config.requestId.header
  try {
    response.writeInterim(status, ownField === null ? fields : omitFields(fields, new Set([ownField.toLowerCase()])))
  } catch (cause) {
    throw new GatewayError('bad-response', { reason: 'response-field', cause })
  }
}
