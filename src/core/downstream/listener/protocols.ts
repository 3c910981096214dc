import type { Socket } from 'node:net'
import type { ListenConfig } from '../../config/config.ts'
import { knownMethods } from '../../exchange/node-http.ts'
import type { Log } from '../../log/log.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { Http1Connection, type Http1ConnectionOptions } from '../http1/http1-connection.ts'
import type { ListenerState } from '../request/active-request.ts'
import { registerRoutes } from '../request/fastify-routes.ts'
import { createRequestHandler } from '../request/request-handler.ts'
import type { ClientErrorHandler } from './client-error.ts'
import { inheritConnectionClaims } from './connection-claims.ts'
import type { GetListenerConfig } from './listener-config.ts'
import { listenerParts } from './listener-parts.ts'
import type { OpenConnections } from './open-connections.ts'

interface ProtocolsOptions {
  readonly currentSnapshot: CurrentSnapshot
  readonly getListenerConfig: GetListenerConfig
  readonly clientErrors: ClientErrorHandler
  readonly connections: OpenConnections
  readonly state: ListenerState
  readonly log: Log
  readonly pseudonym: string
  readonly ticketSecret: string
}

/** What is spoken on the connections of a listener: TLS, HTTP/1, and what features bring. */
interface Protocols {
  /** Takes a connection of which nothing has been read. */
  accept(socket: Socket): void
  isInHandshake(socket: Socket): boolean
  /** Prepares a new configuration, and returns what applies it. Throws when a certificate is not accepted. */
  prepareConfig(listen: ListenConfig): () => void
  /** Lets every connection end, before `deadlineMs` where it can. */
  closeConnections(deadlineMs: number): void
  close(): Promise<void>
}

// The ALPN names; some clients still ask for HTTP/1.0 by name.
const http1Protocols = ['http/1.1', 'http/1.0']

export const createProtocols = async (options: ProtocolsOptions): Promise<Protocols> => {
  const { currentSnapshot, getListenerConfig, clientErrors, connections, state } = options
  const { listen } = currentSnapshot.value.config
  const handleRequest = createRequestHandler(options)
  const routes = await registerRoutes(getListenerConfig, handleRequest)
  const http1 = createHttp1Server({ getListenerConfig, clientErrors, onRequest: routes.route })
  const acceptHttp1 = (socket: Socket): void => {
    if (connections.track(socket)) http1.accept(socket)
  }
  // A reload changes neither: a module that is off is never loaded.
  const opened = await Promise.all(
    listenerParts.map((part) =>
      part.openProtocol?.({
        getListenerConfig,
        reportUnparsed: clientErrors.reportUnparsed,
        // Fastify knows no other methods, and renders all of its routes to say so.
        onRequest: (request, response) =>
          knownMethods.has(request.method ?? '')
            ? routes.route(request, response)
            : void handleRequest(request, response, null),
        isDraining: () => state.isDraining,
      }),
    ),
  )
  const negotiated = new Map(opened.filter((each) => each != null).map((each) => [each.name, each]))
  const tls =
    listen.tls &&
    (await import('../tls/tls-acceptor.ts')).createTlsAcceptor({
      listen,
      tls: listen.tls,
      log: options.log,
      ticketSecret: options.ticketSecret,
      protocols: [...negotiated.keys(), ...http1Protocols],
      onHandshake(socket, getGroup) {
        const { config, telemetry } = currentSnapshot.value
        if (config.metrics !== null)
          telemetry.requestMetrics.countHandshake(socket.getProtocol() ?? '', getGroup(socket))
      },
      onSecure(socket, raw) {
        inheritConnectionClaims(socket, raw)
        connections.forget(raw) // it closes with the TLS socket on it
        const chosen = negotiated.get(String(socket.alpnProtocol))
        if (chosen === undefined) acceptHttp1(socket)
        else if (connections.track(socket)) chosen.accept(socket)
      },
      onPlaintext: (socket, first) => clientErrors.onPlainHttp(socket, first),
    })
  const acceptTls = (socket: Socket): void => {
    if (connections.track(socket)) tls?.accept(socket)
  }

  return {
    accept: tls === null ? acceptHttp1 : acceptTls,
    isInHandshake: (socket) => tls !== null && !('encrypted' in socket),
    prepareConfig(next) {
      const applyTls = tls?.prepareConfig(next)
      return () => {
        applyTls?.()
        for (const protocol of negotiated.values()) protocol.applyConfig(next)
      }
    },
    closeConnections(deadlineMs) {
      for (const protocol of negotiated.values()) protocol.close(deadlineMs)
      http1.closeConnections()
    },
    close: () => routes.close(),
  }
}

/** Creates the HTTP/1 side of a listener. `closeConnections` closes each when no request is under way on it. */
export const createHttp1Server = (listener: Omit<Http1ConnectionOptions, 'isClosing'>) => {
  const options = { ...listener, isClosing: false }
  const connections = new Set<Http1Connection>()
  return {
    accept(socket: Socket): void {
      const connection = new Http1Connection(socket, options)
      connections.add(connection)
      socket.once('close', () => connections.delete(connection))
    },
    closeConnections(): void {
      options.isClosing = true
      for (const connection of connections) connection.closeIfIdle()
    },
  }
}
