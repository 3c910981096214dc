import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../core/config/config.ts'
import { Http2Connection } from '../../core/downstream/http2/http2-connection.ts'
import { type ConnectionError, errorCodes } from '../../core/downstream/http2/http2-error.ts'
import { WideConnections } from '../../core/downstream/http2/wide-connections.ts'
import type { NegotiatedProtocol, ProtocolOptions } from '../../core/downstream/listener/listener-part.ts'
import { getClientConnection } from '../../core/downstream/request/active-request.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { Http2Request } from './http2-request.ts'
import { Http2Response } from './http2-response.ts'
import { maxConcurrentStreams, maxListSize } from './session-limits.ts'
import { type SessionTimeouts, startSessionTimeouts } from './session-timeouts.ts'

/**
 * When an edit changes limits that hold for a whole connection, every client gets GOAWAY when it has no request under
 * way, and the new limits with its next connection. A stop sends GOAWAY when the requests under way have ended, or
 * after half of the deadline, so that later ones can end too.
 */
export const createHttp2Sessions = (options: ProtocolOptions): NegotiatedProtocol => {
  const openSessions = new Set<SessionTimeouts>()
  const wideConnections = new WideConnections()
  let appliedLimit = maxListSize(options.getListenerConfig().config.listen)
  return {
    name: 'h2',
    accept(socket) {
      const session = startSession(socket, options, wideConnections)
      openSessions.add(session)
      socket.once('close', () => openSessions.delete(session))
    },
    applyConfig(listen) {
      const limit = maxListSize(listen)
      if (limit !== appliedLimit) for (const session of openSessions) session.leave()
      appliedLimit = limit
    },
    close(deadlineMs) {
      for (const session of openSessions) session.stop(deadlineMs / 2)
    },
  }
}

const startSession = (
  socket: TLSSocket,
  { getListenerConfig, reportUnparsed, onRequest, isDraining }: ProtocolOptions,
  wideConnections: WideConnections,
): SessionTimeouts => {
  const { address } = getClientConnection(socket, getListenerConfig()).peer // unknown once the connection has closed
  const report = (failure: GatewayError): void => reportUnparsed(address, failure)
  const getTimeouts = (): ListenConfig['timeouts'] => getListenerConfig().config.listen.timeouts
  let hasFailed = false
  let requestCount = 0
  const connection = new Http2Connection(socket, {
    maxConcurrentStreams,
    maxListSize: maxListSize(getListenerConfig().config.listen),
    wideConnections,
    onStream(stream) {
      timeouts.onStreamOpened(stream.id)
      // Not with the response: a client could give up each request before its response.
      if (++requestCount >= getListenerConfig().maxRequestsPerConnection) timeouts.leave()
      const request = new Http2Request(connection, stream)
      onRequest(request, new Http2Response(connection, stream, request))
    },
    onStreamClosed: (stream) => timeouts.onStreamClosed(stream.id, hasFailed),
    onFailure(cause) {
      hasFailed = true
      report(new GatewayError('bad-request', { reason: reasonOf(cause), cause }))
    },
  })
  // The listener keeps half-closed connections open for HTTP/1; an HTTP/2 client that has ended its side cannot take a
  // response.
  socket.once('end', () => socket.destroy())
  const session = {
    get closed() {
      return connection.hasGoneAway
    },
    get destroyed() {
      return hasFailed
    },
    close() {
      connection.goAway()
    },
  }
  const timeouts = startSessionTimeouts(session, socket, getTimeouts, isDraining, () =>
    report(new GatewayError('request-timeout', { reason: 'head-too-slow' })),
  )
  return timeouts
}

const reasonOf = ({ code }: ConnectionError) => (code === errorCodes.enhanceYourCalm ? 'too-many-frames' : 'bad-frames')
