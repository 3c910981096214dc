import type { Socket } from 'node:net'
import { GatewayError } from '../../failures/errors.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/current-snapshot.ts'
import { asHttp1Response } from '../http1/http1-response.ts'
import { classifyParserError, detectOtherProtocol, getRequestLine, type ParserError } from '../http1/parser-error.ts'
import { hasReceivedNothing } from '../proxy-protocol/proxied-connections.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import { randomId } from '../request/request-id.ts'
import { renderRawProblem } from '../response/local-reply.ts'
import { type ClientConnection, getClientConnection } from './client-connection.ts'
import { getLingerMode, writeAndLinger } from './linger.ts'
import type { GetListenerConfig } from './listener-config.ts'

/** Responds to what never becomes a request: in the shape of every other error, on the bare socket. */
export interface ClientErrorHandler {
  /** Handles bytes that Node's parser rejected. */
  onParserError(error: ParserError, socket: Socket): void
  /** Handles CONNECT, to which Node would send nothing at all. */
  onConnect(socket: Socket): void
  /** Handles plain HTTP where TLS is spoken; `first` is its beginning. */
  onPlainHttp(socket: Socket, first: Buffer): void
  /** Records a failure to which no response was written. */
  reportUnparsed(client: string, failure: GatewayError): void
}

/** Creates the handler of one listener. */
export const createClientErrorHandler = (
  getListenerConfig: GetListenerConfig,
  currentSnapshot: CurrentSnapshot,
): ClientErrorHandler => {
  const reportUnparsed = (client: string, failure: GatewayError, requestId = randomId(), bytesOut = 0): void => {
    const { config, observers } = currentSnapshot.value
    const { status } = failure
    const emptyRecord = { method: null, path: null, totalMs: 0, firstByteMs: null, bytesIn: 0, exchange: null }
    const accessRecord = { ...emptyRecord, requestId, client, status, bytesOut, configHash: config.hash, failure }
    for (const observer of observers) observer.record(accessRecord)
  }

  const sendProblem = (socket: Socket, client: string, failure: GatewayError, headOnly = false): void => {
    if (!socket.writable) return // the response before this one has ended the connection
    const requestId = randomId()
    const requestIdField = getListenerConfig().config.requestId.header
    const { head, body } = renderRawProblem(failure.kind, requestId, requestIdField, failure.fields)
    writeAndLinger(socket, headOnly ? head : head + body, getLingerMode(failure))
    reportUnparsed(client, failure, requestId, headOnly ? 0 : body.length)
  }

  /** Sends the error after the responses due: nothing may be written between them (RFC 9112 §9.3.2). */
  const sendProblemInOrder = (
    connection: ClientConnection,
    socket: Socket,
    failure: GatewayError,
    headOnly?: boolean,
  ): void => {
    connection.closing = true
    const write = () => sendProblem(socket, connection.peer.address, failure, headOnly)
    const response = connection.activeRequests.at(-1)?.response
    if (response === undefined || response.writableFinished) write()
    else response.once('finish', write)
  }

  return {
    reportUnparsed,

    onParserError(error, socket) {
      const listenerConfig = getListenerConfig()
      const line = getRequestLine(error)
      const failure = classifyParserError(error, line, listenerConfig.config.listen.maxTarget)
      if (failure === null) return void socket.destroy()
      // To a client that has sent nothing, a 408 would be the response to its first request before that comes; RFC 9110
      // §15.5.9 leaves it out.
      if (failure.kind === 'request-timeout' && hasReceivedNothing(socket)) return socket.destroySoon()
      const connection = getClientConnection(socket, listenerConfig)
      const lastRequest = connection.activeRequests.at(-1)
      if (lastRequest !== undefined && !lastRequest.request.complete)
        return abortTruncatedRequest(lastRequest, connection, failure)
      // The parser fails again on everything that follows, and at its end.
      if (!connection.closing) sendProblemInOrder(connection, socket, failure, line?.startsWith('HEAD '))
    },

    onPlainHttp(socket, first) {
      const cause = new Error('plain HTTP where TLS is spoken')
      const failure = detectOtherProtocol(first) ?? new GatewayError('bad-request', { reason: 'plain-http', cause })
      const { peer } = getClientConnection(socket, getListenerConfig())
      sendProblem(socket, peer.address, failure, first.toString('latin1', 0, 5) === 'HEAD ')
    },

    onConnect(socket) {
      // Node has let go of the socket: without a listener, a client that resets it would end the process.
      socket.on('error', () => {})
      const connection = getClientConnection(socket, getListenerConfig())
      // Node also no longer tells the responses due when they may go on, or that the client has left: a request whose
      // response waits for its turn would hold its upstream connection for ever.
      socket.on('drain', () => {
        const [first] = connection.activeRequests
        if (first !== undefined) asHttp1Response(first.response).emit('drain')
      })
      socket.on('close', () => {
        for (const { response } of connection.activeRequests) asHttp1Response(response).destroy()
      })
      socket.on('end', () => socket.end())
      socket.resume() // or its end is never read; what a client sends for a tunnel is not kept
      if (!connection.closing)
        sendProblemInOrder(
          connection,
          socket,
          new GatewayError('method-not-allowed', { fields: ['Allow', 'GET, POST'] }),
        )
    },
  }
}

/** Aborts a request whose body has broken off: its own response says so, or is cut when it had begun. */
const abortTruncatedRequest = (
  activeRequest: ActiveRequest,
  connection: ClientConnection,
  failure: GatewayError,
): void => {
  const { request, response } = activeRequest
  activeRequest.abort(failure)
  if (connection.closing) return
  connection.closing = true
  response.markLast(activeRequest, false)
  if (response.writableFinished) request.socket.destroySoon()
  else response.once('finish', () => request.socket.destroySoon())
}
