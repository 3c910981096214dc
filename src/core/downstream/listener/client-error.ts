import type { Socket } from 'node:net'
import { GatewayError } from '../../exchange/failures/errors.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { type ClientConnection, getClientConnection } from '../request/active-request.ts'
import { renderRawProblem } from '../response/problem.ts'
import { getLingerMode, writeAndLinger } from './linger.ts'
import type { GetListenerConfig } from './listener-config.ts'
import { listenerParts } from './listener-parts.ts'

export type ClientErrorHandler = ReturnType<typeof createClientErrorHandler>

/** Writes errors on the bare socket for bytes that never become a request. */
export const createClientErrorHandler = (getListenerConfig: GetListenerConfig, currentSnapshot: CurrentSnapshot) => {
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
    // The previous response may have ended the connection.
    if (socket.writable) writeAndLinger(socket, headOnly ? head : head + body, getLingerMode(failure))
    reportUnparsed(client, failure, requestId, headOnly ? 0 : body.length)
  }

  return {
    reportUnparsed,

    /** `bytes`: the rejected bytes; null: none. `headOnly`: for HEAD. */
    onMalformed(
      connection: ClientConnection,
      socket: Socket,
      failure: GatewayError,
      bytes: Buffer | null,
      headOnly: boolean,
    ): void {
      const last = connection.activeRequests.at(-1)
      const isTruncated = last?.request.complete === false
      // The response of that request reports the failure, or is cut if it has begun.
      if (isTruncated) last.abort(failure)
      if (connection.closing) return
      connection.closing = true
      if (isTruncated) return last.response.markLast(last.failure, true)
      const problem = (bytes === null ? null : detectOtherProtocol(bytes)) ?? failure
      const write = () => sendProblem(socket, connection.peer.address, problem, headOnly)
      // RFC 9112 §9.3.2: nothing may be written between the responses that are due.
      if (last === undefined || last.response.writableFinished) write()
      else last.response.on('finish', write)
    },

    onPlainHttp(socket: Socket, first: Buffer): void {
      const cause = new Error('plain HTTP on a TLS port')
      const failure = detectOtherProtocol(first) ?? new GatewayError('bad-request', { reason: 'plain-http', cause })
      const { peer } = getClientConnection(socket, getListenerConfig())
      sendProblem(socket, peer.address, failure, first.toString('latin1', 0, 5) === 'HEAD ')
    },
  }
}

const detectOtherProtocol = (first: Buffer): GatewayError | null => {
  // RFC 8446 §5.1: a record of type handshake, major version 3.
  if (first[0] === 0x16 && first[1] === 0x03) {
    const cause = new Error('TLS on a port of plain HTTP')
    return new GatewayError('bad-request', { reason: 'tls-on-plain-port', cause })
  }
  for (const part of listenerParts) {
    const failure = part.detectProtocol?.(first) ?? null
    if (failure !== null) return failure
  }
  return null
}
