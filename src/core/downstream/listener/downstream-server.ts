import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import type { ListenConfig } from '../../config/config.ts'
import { knownMethods } from '../../exchange/node-http.ts'
import { settlesWithin } from '../../lib/clock.ts'
import { maxClientFiles, maxOpenFiles } from '../../lib/file-descriptors.ts'
import { type BindTarget, listenAt } from '../../lib/net/bind-target.ts'
import { generateSecret } from '../../lib/secrets.ts'
import type { Log } from '../../log/log.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { Http1Connection, type Http1ConnectionOptions } from '../http1/http1-connection.ts'
import { registerRoutes } from '../request/fastify-routes.ts'
import { createRequestHandler, type RequestHandlerOptions } from '../request/request-handler.ts'
import { randomId } from '../request/request-head.ts'
import { type ClientErrorHandler, createClientErrorHandler } from './client-error.ts'
import { createListenerConfigGetter, hasReceivedNothing, inheritConnectionClaims } from './listener-config.ts'
import type { AcceptorOptions, ConnectionAcceptor, CountConnection } from './listener-part.ts'
import { listenerParts } from './listener-parts.ts'
import { OpenConnections } from './open-connections.ts'

export interface DownstreamServerOptions {
  /** `elsewhere`: another process listens and hands connections over. */
  readonly bindTarget?: BindTarget | 'elsewhere' | undefined
  /** The name in `Via`, if `listen.via` is not set. */
  readonly pseudonym?: string
  /** Processes with the same secret resume each other's TLS sessions. Default: random. */
  readonly ticketSecret?: string
  /** Counts connections by client address in another process. Default: counted here. */
  readonly countElsewhere?: CountConnection | undefined
  readonly worker?: number
}

export const openDownstreamServer = async (
  currentSnapshot: CurrentSnapshot,
  log: Log,
  {
    bindTarget,
    pseudonym = createPseudonym(),
    ticketSecret = generateSecret(),
    countElsewhere,
    worker,
  }: DownstreamServerOptions = {},
) => {
  const { config, telemetry } = currentSnapshot.value
  const { listen } = config
  const getListenerConfig = createListenerConfigGetter(currentSnapshot)
  const clientErrors = createClientErrorHandler(getListenerConfig, currentSnapshot)
  const connections = new OpenConnections(log, telemetry.rejectedConnections, worker)
  const { sockets, rejected } = connections
  const state = { isDraining: false, isCutting: false }
  const protocols = await createProtocols({
    currentSnapshot,
    getListenerConfig,
    clientErrors,
    connections,
    state,
    log,
    pseudonym: listen.via ?? pseudonym,
    ticketSecret,
  })
  const { acceptors, accept } = chainAcceptors(protocols.accept, {
    listen,
    onAwaited: (socket) => connections.remember(socket),
    countElsewhere,
    onFailure: (sender, failure) => clientErrors.reportUnparsed(sender, failure),
  })
  // A client that has ended its side may still read.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept)
  server.on('drop', () => rejected.record())
  // Leaves descriptors for probes, operators and upstreams: a flood of connections would take all.
  const maxFiles = maxClientFiles(maxOpenFiles())
  const applyConfig = (next: ListenConfig): void => {
    server.maxConnections = Math.min(next.maxConnections ?? Number.POSITIVE_INFINITY, maxFiles)
    if (countElsewhere === undefined) connections.addressLimit.applyConfig(next)
    for (const acceptor of acceptors) acceptor.applyConfig(next)
  }
  applyConfig(listen)
  if (bindTarget !== 'elsewhere') await listenAt(server, bindTarget ?? listen)

  return {
    address: server.address() as AddressInfo,
    /** Returns a function that applies limits and certificates, not the address. Throws on a bad certificate. */
    prepareConfig(next: ListenConfig) {
      const applyProtocols = protocols.prepareConfig(next)
      return () => {
        applyConfig(next)
        applyProtocols()
      }
    },
    /** False after `stopAccepting`, and where another process accepts. */
    get isListening() {
      return server.listening
    },
    adoptConnection: (socket: Socket) => adopt(server, socket, connections),
    drain() {
      state.isDraining = true
    },
    stopAccepting() {
      server.close()
    },
    async close(deadlineMs: number) {
      state.isDraining = true
      // `server.close` waits only for connections that this server accepted.
      const allClosed = Promise.all([connections.allClosed(), new Promise((resolve) => server.close(resolve))])
      protocols.closeConnections(deadlineMs)
      for (const socket of sockets)
        if (
          hasReceivedNothing(socket) ||
          protocols.isInHandshake(socket) ||
          acceptors.some((each) => each.isAwaited(socket))
        )
          socket.destroy()
      if (!(await settlesWithin(deadlineMs, allClosed))) {
        state.isCutting = true
        for (const socket of sockets) socket.destroy()
      }
      await allClosed
      connections.close()
      await protocols.close()
    },
  }
}

/** Each part's acceptor hands connections to the one before it, the first to `onConnection`. */
const chainAcceptors = (onConnection: (socket: Socket) => void, options: Omit<AcceptorOptions, 'onConnection'>) => {
  const acceptors: ConnectionAcceptor[] = []
  let accept = onConnection
  for (const part of listenerParts) {
    const acceptor = part.createAcceptor?.({ ...options, onConnection: accept })
    if (acceptor === undefined) continue
    acceptors.push(acceptor)
    accept = acceptor.accept
  }
  return { acceptors, accept }
}

interface ProtocolsOptions extends RequestHandlerOptions {
  readonly clientErrors: ClientErrorHandler
  readonly connections: OpenConnections
  readonly log: Log
  readonly ticketSecret: string
}

// ALPN names; some clients still ask for HTTP/1.0.
const http1Protocols = ['http/1.1', 'http/1.0']

const createProtocols = async (options: ProtocolsOptions) => {
  const { currentSnapshot, getListenerConfig, clientErrors, connections, state } = options
  const { listen } = currentSnapshot.value.config
  const handleRequest = createRequestHandler(options)
  const routes = await registerRoutes(getListenerConfig, handleRequest)
  const http1 = createHttp1Server({ getListenerConfig, clientErrors, onRequest: routes.route })
  const acceptHttp1 = (socket: Socket): void => {
    if (connections.track(socket)) http1.accept(socket)
  }
  // A reload opens no further protocol: a protocol that is off is never loaded.
  const opened = await Promise.all(
    listenerParts.map((part) =>
      part.openProtocol?.({
        getListenerConfig,
        reportUnparsed: clientErrors.reportUnparsed,
        // For other methods Fastify would list all of its routes in an error.
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
        connections.sockets.delete(raw) // it closes with the TLS socket on it
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
    isInHandshake: (socket: Socket) => tls !== null && !('encrypted' in socket),
    prepareConfig(next: ListenConfig) {
      const applyTls = tls?.prepareConfig(next)
      return () => {
        applyTls?.()
        for (const protocol of negotiated.values()) protocol.applyConfig(next)
      }
    },
    closeConnections(deadlineMs: number) {
      for (const protocol of negotiated.values()) protocol.close(deadlineMs)
      http1.closeConnections()
    },
    close: () => routes.close(),
  }
}

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

const adopt = (server: NetServer, socket: Socket, { isClosed, sockets, rejected }: OpenConnections): void => {
  if (isClosed) return void socket.destroy()
  if (sockets.size >= server.maxConnections) {
    rejected.record()
    return void socket.destroy()
  }
  // As `createServer` does for accepted connections.
  socket.allowHalfOpen = true
  socket.setNoDelay(true)
  server.emit('connection', socket)
}

/** Random, so that a second gateway in the chain is no loop. */
export const createPseudonym = (): string => `lender-gateway-${randomId().slice(0, 8)}`
