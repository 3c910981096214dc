import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../core/config/config.ts'
import { Http2Connection } from '../../core/downstream/http2/http2-connection.ts'
import type { WideConnections } from '../../core/downstream/http2/wide-connections.ts'
import type { NegotiatedProtocol, ProtocolOptions } from '../../core/downstream/listener/listener-part.ts'
import { getClientConnection } from '../../core/downstream/request/active-request.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { createSessions } from './create-sessions.ts'
import { Http2Request } from './http2-request.ts'
import { Http2Response } from './http2-response.ts'
import { maxConcurrentStreams, maxListSize } from './session-limits.ts'
import { type SessionTimeouts, startSessionTimeouts } from './session-timeouts.ts'

export const createHttp2Sessions = (options: ProtocolOptions): NegotiatedProtocol =>
  createSessions(options, maxListSize, startSession)

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
      // Counted at the start: a client could give up each request before its response.
      if (++requestCount >= getListenerConfig().maxRequestsPerConnection) timeouts.leave()
      const request = new Http2Request(connection, stream)
      onRequest(request, new Http2Response(connection, stream, request))
    },
    onStreamClosed: (stream) => timeouts.onStreamClosed(stream.id, hasFailed),
    // The flood budget bounds these lines: 200 at once, then 33 a second.
    onMalformed: (cause) => report(new GatewayError('bad-request', { reason: 'broken-stream', cause })),
    onFailure(cause) {
      hasFailed = true
      report(new GatewayError('bad-request', { reason: cause.reason, cause }))
    },
  })
  // A client that has closed its side of the TLS connection can take no response over HTTP/2.
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
