import { now } from '../../clock.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { Operation } from '../../operations.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/current-snapshot.ts'
import { batchWrite } from '../../shared/write-batching.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import { type ClientConnection, getClientConnection, stopParsing } from '../listener/client-connection.ts'
import type { CompiledListenerConfig, GetListenerConfig } from '../listener/listener-config.ts'
import { sendLocalReply } from '../response/local-reply.ts'
import { relayResponse } from '../response/relay.ts'
import { ActiveRequest } from './active-request.ts'
import { createExchange } from './create-exchange.ts'
import { validateAndRoute } from './match-request.ts'

/** Is what the front needs of the listener that it stands in. */
interface RequestHandlerOptions {
  readonly currentSnapshot: CurrentSnapshot
  readonly getListenerConfig: GetListenerConfig
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  readonly draining: () => boolean
}

/** Serves a request, or refuses it. `routed` is the operation that Fastify has found for its path and method; null: none. */
export type RequestHandler = (
  request: DownstreamRequest,
  response: DownstreamResponse,
  routedOperation: Operation | null,
) => void

/** Is where answers wait for their turn: a connection, or a stream of one. */
type ResponseQueue = Pick<ClientConnection, 'peer' | 'activeRequests' | 'closing'> & {
  readonly idleTimer: ClientConnection['idleTimer'] | null
}

/** Makes the front of a public listener: what stands behind Fastify's routes, and behind none of them. */
export const createRequestHandler = ({
  currentSnapshot,
  getListenerConfig,
  pseudonym,
  draining,
}: RequestHandlerOptions): RequestHandler => {
  const responseVia = `1.1 ${pseudonym}`

  /** Sees to the end of a visit. */
  const trackRequest = (
    activeRequest: ActiveRequest,
    queue: ResponseQueue,
    { idleTimeoutMs }: CompiledListenerConfig,
  ): void => {
    const { request, response, snapshot } = activeRequest
    const { activeRequests, idleTimer } = queue
    activeRequests.push(activeRequest)
    snapshot.acquire()
    response.on('close', () => {
      if (activeRequests.length === 1) activeRequests.pop()
      else advanceQueue(activeRequests, activeRequest)
      // A connection that closes may linger: its end is seen to.
      if (activeRequests.length === 0 && !queue.closing && !request.socket.destroyed) idleTimer?.set(idleTimeoutMs)
      if (!response.writableFinished) abortUnfinished(activeRequest)
      activeRequest.exchange?.finish()
      snapshot.release()
      if (activeRequest.exchange?.bodySent === true) activeRequest.body?.freeBuffers()
      activeRequest.totalMs = now() - activeRequest.startedAt
      for (const recorder of snapshot.observers) recorder.record(activeRequest)
    })
  }

  return (request, response, routedOperation) => {
    const listenerConfig = getListenerConfig()
    const queue = getResponseQueue(request, listenerConfig)
    if (queue === null) return stopParsing(request.socket)
    const activeRequest = new ActiveRequest(
      request,
      response,
      currentSnapshot.value,
      queue.peer,
      listenerConfig,
      queue.closing ? alwaysTrue : draining,
    )
    trackRequest(activeRequest, queue, listenerConfig)
    const fail = (error: unknown): void => sendLocalReply(activeRequest, GatewayError.from(error))
    try {
      const { routes, matchesAuthority } = listenerConfig
      const matchOptions = { routes, matchesAuthority, pseudonym, secure: activeRequest.peer.secure }
      const matched =
        request.validate() ??
        validateAndRoute(activeRequest, listenerConfig.config.listen, matchOptions, routedOperation)
      if (matched instanceof GatewayError) return sendLocalReply(activeRequest, matched)
      const exchange = createExchange(activeRequest, matched, `${request.httpVersion} ${pseudonym}`)
      activeRequest.snapshot.handlers[exchange.operation.id](exchange).then(
        (proxyResponse) => batchWrite(() => relayResponse(activeRequest, proxyResponse, responseVia)),
        fail,
      )
    } catch (error) {
      fail(error) // Fastify would leave it unanswered: the reply is hijacked
    }
  }
}

const alwaysTrue = (): boolean => true

// Node reads on for as long as nothing is written, and parses all that a packet holds: without a bound, one connection that pipelines
// would have as many requests under way as it has bytes to send. No proxy and no library pipelines nearly as many.
const maxPipelinedRequests = 100

/** Finds where a request waits for its turn; null: the last request of its connection has come before it. */
const getResponseQueue = (
  { multiplexed, socket }: DownstreamRequest,
  listenerConfig: CompiledListenerConfig,
): ResponseQueue | null => {
  const connection = getClientConnection(socket, listenerConfig)
  if (multiplexed) {
    const closing = ++connection.requestCount >= listenerConfig.maxRequestsPerConnection
    return { peer: connection.peer, activeRequests: [], closing, idleTimer: null }
  }
  if (connection.closing) return null
  // Of as many requests as a connection may bring, this is the last: its response says so, and nothing behind it is served.
  connection.closing =
    ++connection.requestCount >= listenerConfig.maxRequestsPerConnection ||
    connection.activeRequests.length + 1 >= maxPipelinedRequests
  connection.idleTimer.clear()
  return connection
}

/** Takes a visit off those of its connection; it is the turn of the answer behind it, which may have been written long ago. */
const advanceQueue = (activeRequests: ActiveRequest[], activeRequest: ActiveRequest): void => {
  activeRequests.splice(activeRequests.indexOf(activeRequest), 1)
  const [next] = activeRequests
  const onHeadOfLine = next?.onHeadOfLine
  if (next === undefined || onHeadOfLine == null) return
  next.onHeadOfLine = null
  onHeadOfLine()
}

/** Ends what was under way for a client whose connection closed before its answer was complete. */
const abortUnfinished = (activeRequest: ActiveRequest): void => {
  activeRequest.failure ??= new GatewayError('client-gone')
  activeRequest.abort(activeRequest.failure)
}
