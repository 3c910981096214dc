import type { Socket } from 'node:net'
import { GatewayError } from '../../exchange/failures/errors.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { type ActiveRequest, type ClientConnection, getClientConnection } from '../request/active-request.ts'
import { renderRawProblem } from '../response/send-response.ts'
import { getLingerMode, writeAndLinger } from './linger.ts'
import type { GetListenerConfig } from './listener-config.ts'
import { listenerParts } from './listener-parts.ts'

/** Responds to what never becomes a request: in the shape of every other error, on the bare socket. */
export interface ClientErrorHandler {
  /**
   * Handles a request that is malformed or too late; `bytes` are those at which it was rejected, null: none. To HEAD
   * (`headOnly`) no body is sent.
   */
  onMalformed(
    connection: ClientConnection,
    socket: Socket,
    failure: GatewayError,
    bytes: Buffer | null,
    headOnly: boolean,
  ): void
  /** Handles plain HTTP where TLS is spoken; `first` is its beginning. */
  onPlainHttp(socket: Socket, first: Buffer): void
  /** Records a failure to which no response was written. */
  reportUnparsed(client: string, failure: GatewayError): void
}

export const createClientErrorHandler = (
  getListenerConfig: GetListenerConfig,
  currentSnapshot: CurrentSnapshot,
): ClientErrorHandler => {
  const reportUnparsed = (
    client: string,
    failure: GatewayError,
    requestId = getListenerConfig().createRequestId(),
    bytesOut = 0,
  ): void => {
    const { config, observers } = currentSnapshot.value
    const { status } = failure
    const emptyRecord = { method: null, path: null, totalMs: 0, firstByteMs: null, bytesIn: 0, exchange: null }
    const accessRecord = { ...emptyRecord, requestId, client, status, bytesOut, configHash: config.hash, failure }
    for (const observer of observers) observer.record(accessRecord)
  }

  const sendProblem = (socket: Socket, client: string, failure: GatewayError, headOnly = false): void => {
    const { config, createRequestId } = getListenerConfig()
    const requestId = createRequestId()
    const requestIdField = config.requestId.header
    const { head, body } = renderRawProblem(failure.kind, requestId, requestIdField, failure.fields)
    // The response before this one may have ended the connection.
    if (socket.writable) writeAndLinger(socket, headOnly ? head : head + body, getLingerMode(failure))
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
    else response.on('finish', write)
  }

  return {
    reportUnparsed,

    onMalformed(connection, socket, failure, bytes, headOnly) {
      const lastRequest = connection.activeRequests.at(-1)
      if (lastRequest !== undefined && !lastRequest.request.complete)
        return abortTruncatedRequest(lastRequest, connection, failure)
      if (connection.closing) return
      const otherProtocol = bytes === null ? null : detectOtherProtocol(bytes)
      sendProblemInOrder(connection, socket, otherProtocol ?? failure, headOnly)
    },

    onPlainHttp(socket, first) {
      const cause = new Error('plain HTTP where TLS is spoken')
      const failure = detectOtherProtocol(first) ?? new GatewayError('bad-request', { reason: 'plain-http', cause })
      const { peer } = getClientConnection(socket, getListenerConfig())
      sendProblem(socket, peer.address, failure, first.toString('latin1', 0, 5) === 'HEAD ')
    },
  }
}

/** Aborts a request whose body has broken off: its own response says so, or is cut when it had begun. */
const abortTruncatedRequest = (
  activeRequest: ActiveRequest,
  connection: ClientConnection,
  failure: GatewayError,
): void => {
  activeRequest.abort(failure)
  if (connection.closing) return
  connection.closing = true
  activeRequest.response.markLast(activeRequest.failure, true)
}

/** Detects another protocol than HTTP by its first bytes. Null: it is none that is known. */
const detectOtherProtocol = (first: Buffer): GatewayError | null => {
  // RFC 8446 §5.1: a record of type handshake, with a version that begins with 3.
  if (first[0] === 0x16 && first[1] === 0x03) {
    const cause = new Error('TLS where plain HTTP is spoken')
    return new GatewayError('bad-request', { reason: 'tls-on-plain-port', cause })
  }
  for (const part of listenerParts) {
    const failure = part.detectProtocol?.(first) ?? null
    if (failure !== null) return failure
  }
  return null
}
