import type { Operation } from '../../../operations.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { now } from '../../lib/clock.ts'
import { batchWrite } from '../../lib/scheduling/write-batching.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/current-snapshot.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import { type ClientConnection, getClientConnection } from '../listener/client-connection.ts'
import type { CompiledListenerConfig, GetListenerConfig } from '../listener/listener-config.ts'
import { sendLocalReply } from '../response/local-reply.ts'
import { relayResponse } from '../response/relay.ts'
import { ActiveRequest } from './active-request.ts'
import { createExchange } from './create-exchange.ts'
import { validateAndRoute } from './match-request.ts'

interface RequestHandlerOptions {
  readonly currentSnapshot: CurrentSnapshot
  readonly getListenerConfig: GetListenerConfig
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  readonly draining: () => boolean
  /** Returns whether the gateway cuts the connections that are left. */
  readonly cutting: () => boolean
}

/**
 * Serves or rejects a request. `routedOperation` is the operation that Fastify has found for its path and method; null:
 * none.
 */
export type RequestHandler = (
  request: DownstreamRequest,
  response: DownstreamResponse,
  routedOperation: Operation | null,
) => void

/** Where responses wait for their turn: a connection of HTTP/1, or a stream of HTTP/2. */
type ResponseQueue = Pick<ClientConnection, 'peer' | 'activeRequests' | 'closing'>

/** Creates the request handler of a listener. It serves the requests of Fastify's routes, and those that match none. */
export const createRequestHandler = ({
  currentSnapshot,
  getListenerConfig,
  pseudonym,
  draining,
  cutting,
}: RequestHandlerOptions): RequestHandler => {
  const responseVia = `1.1 ${pseudonym}`

  /** Adds a request to its queue, and completes its record when its response closes. */
  const trackRequest = (activeRequest: ActiveRequest, { activeRequests }: ResponseQueue): void => {
    const { response, snapshot, peer } = activeRequest
    activeRequests.push(activeRequest)
    peer.inFlight++
    snapshot.acquire()
    response.on('close', () => {
      if (activeRequests.length === 1) activeRequests.pop()
      else advanceQueue(activeRequests, activeRequest)
      peer.inFlight--
      if (!response.writableFinished) abortUnfinished(activeRequest, cutting())
      activeRequest.exchange?.finish()
      snapshot.release()
      if (activeRequest.exchange?.bodySent === true) activeRequest.body?.freeBuffers()
      activeRequest.totalMs = now() - activeRequest.startedAt
      for (const observer of snapshot.observers) observer.record(activeRequest)
    })
  }

  return (request, response, routedOperation) => {
    const listenerConfig = getListenerConfig()
    const queue = getResponseQueue(request, listenerConfig, draining())
    const activeRequest = new ActiveRequest(
      request,
      response,
      currentSnapshot.value,
      queue.peer,
      listenerConfig,
      queue.closing ? alwaysTrue : draining,
    )
    trackRequest(activeRequest, queue)
    const fail = (error: unknown): void => {
      activeRequest.exchange?.releaseSlots()
      sendLocalReply(activeRequest, GatewayError.from(error))
    }
    try {
      const { routes, matchesAuthority } = listenerConfig
      const matchOptions = { routes, matchesAuthority, pseudonym, secure: activeRequest.peer.secure }
      const matched =
        request.validate() ??
        activeRequest.claims?.error ??
        validateAndRoute(activeRequest, listenerConfig.config.listen, matchOptions, routedOperation)
      if (matched instanceof GatewayError) return sendLocalReply(activeRequest, matched)
      const exchange = createExchange(activeRequest, matched, `${request.httpVersion} ${pseudonym}`)
      activeRequest.snapshot.handlers[exchange.operation.id](exchange).then(
        (proxyResponse) => batchWrite(() => relayResponse(activeRequest, exchange, proxyResponse, responseVia)),
        fail,
      )
    } catch (error) {
      fail(error) // Fastify would send no response: the reply is hijacked
    }
  }
}

const alwaysTrue = (): boolean => true

const getResponseQueue = (
  { multiplexed, socket }: DownstreamRequest,
  listenerConfig: CompiledListenerConfig,
  isDraining: boolean,
): ResponseQueue => {
  const connection = getClientConnection(socket, listenerConfig)
  if (multiplexed) return { peer: connection.peer, activeRequests: [], closing: false }
  // The last request that a connection may carry: its response says so, and nothing behind it is served. A client that
  // always has another one on its way would not let a gateway that drains go.
  connection.closing = isDraining || ++connection.requestCount >= listenerConfig.maxRequestsPerConnection
  return connection
}

/**
 * Removes a request from its queue. The response behind it, which may have been written long ago, becomes the head of
 * the line.
 */
const advanceQueue = (activeRequests: ActiveRequest[], activeRequest: ActiveRequest): void => {
  activeRequests.splice(activeRequests.indexOf(activeRequest), 1)
  const [next] = activeRequests
  const onHeadOfLine = next?.onHeadOfLine
  if (next === undefined || onHeadOfLine == null) return
  next.onHeadOfLine = null
  onHeadOfLine()
}

/** Aborts a request whose connection closed before its response was complete: `isCut` by the gateway. */
const abortUnfinished = (activeRequest: ActiveRequest, isCut: boolean): void => {
  activeRequest.failure ??= new GatewayError('client-gone', isCut ? { reason: 'shutdown-deadline' } : {})
  activeRequest.abort(activeRequest.failure)
}
