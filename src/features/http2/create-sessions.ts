import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../core/config/config.ts'
import { WideConnections } from '../../core/downstream/http2/wide-connections.ts'
import type { NegotiatedProtocol, ProtocolOptions } from '../../core/downstream/listener/listener-part.ts'
import type { SessionTimeouts } from './session-timeouts.ts'

/**
 * After an edit of a connection's limits, every client gets GOAWAY when it has no request under way. A stop sends
 * GOAWAY when the requests under way have ended, or after half of the deadline, so that later requests can end too.
 */
export const createSessions = (
  options: ProtocolOptions,
  limitsOf: (listen: ListenConfig) => string | number,
  startSession: (socket: TLSSocket, options: ProtocolOptions, wideConnections: WideConnections) => SessionTimeouts,
): NegotiatedProtocol => {
  const openSessions = new Set<SessionTimeouts>()
  const wideConnections = new WideConnections()
  let appliedLimits = limitsOf(options.getListenerConfig().config.listen)
  return {
    name: 'h2',
    accept(socket) {
      const session = startSession(socket, options, wideConnections)
      openSessions.add(session)
      socket.once('close', () => openSessions.delete(session))
    },
    applyConfig(listen) {
      const limits = limitsOf(listen)
      if (limits !== appliedLimits) for (const session of openSessions) session.leave()
      appliedLimits = limits
    },
    close(deadlineMs) {
      for (const session of openSessions) session.stop(deadlineMs / 2)
    },
  }
}
