import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import type { ListenConfig } from '../../config/config.ts'
import { knownMethods } from '../../exchange/node-http.ts'
import { settlesWithin } from '../../lib/clock.ts'
import { maxClientFiles, maxOpenFiles } from '../../lib/file-descriptor.ts'
import { type BindTarget, listenAt } from '../../lib/net/bind-target.ts'
import { generateSecret } from '../../lib/secrets.ts'
import type { Log } from '../../log/log.ts'
import type { ProxyServer } from '../../runtime/proxy-server.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { Http1Connection, type Http1ConnectionOptions } from '../http1/http1-connection.ts'
import type { ListenerState } from '../request/active-request.ts'
import { registerRoutes } from '../request/fastify-routes.ts'
import { createRequestHandler } from '../request/request-handler.ts'
import { randomId } from '../request/request-head.ts'
import { type ClientErrorHandler, createClientErrorHandler } from './client-error.ts'
import {
  createListenerConfigGetter,
  type GetListenerConfig,
  hasReceivedNothing,
  inheritConnectionClaims,
} from './listener-config.ts'
import type { ConnectionAcceptor, CountConnection } from './listener-part.ts'
import { listenerParts } from './listener-parts.ts'
import { OpenConnections } from './open-connections.ts'

export interface DownstreamServer extends Pick<ProxyServer, 'address' | 'drain' | 'stopAccepting' | 'close'> {
  /** Whether it listens: not after `stopAccepting`, and never where another process accepts. */
  readonly isListening: boolean
  /**
   * Prepares the limits and the certificates of a new configuration, and returns what applies them; where it listens
   * stays. Throws when a certificate is not accepted.
   */
  prepareConfig(listen: ListenConfig): () => void
  /** Serves a connection that another process accepted, unless the limit of connections is reached. */
  adoptConnection(socket: Socket): void
}

export interface DownstreamServerOptions {
  /** `elsewhere`: another process listens, and hands connections over. */
  readonly bindTarget?: BindTarget | 'elsewhere' | undefined
  /** The gateway's name in `Via`, where the file has none. */
  readonly pseudonym?: string
  /**
   * The secret of the keys of session tickets: processes that share it resume each other's sessions. Default: random.
   */
  readonly ticketSecret?: string
  /**
   * Counts a connection by the address of its client, where another process counts for all; false: the address has as
   * many as it may have. Default: all connections are counted here.
   */
  readonly countElsewhere?: CountConnection | undefined
  readonly worker?: number
}

/** Opens the listener, at `bindTarget` or where the file says. Rejects when it cannot listen there. */
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
): Promise<DownstreamServer> => {
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
  const acceptors: ConnectionAcceptor[] = []
  let { accept } = protocols
  for (const { createAcceptor } of listenerParts) {
    const acceptor = createAcceptor?.({
      listen,
      onConnection: accept,
      onAwaited: (socket) => connections.remember(socket),
      countElsewhere,
      onFailure: (sender, failure) => clientErrors.reportUnparsed(sender, failure),
    })
    if (acceptor === undefined) continue
    acceptors.push(acceptor)
    accept = acceptor.accept
  }
  // A client that has ended its side may still read.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept)
  server.on('drop', () => rejected.record())
  // The rest of the descriptors is kept: a flood of connections must not keep probes, operators and upstreams out.
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
    prepareConfig(next) {
      const applyProtocols = protocols.prepareConfig(next)
      return () => {
        applyConfig(next)
        applyProtocols()
      }
    },
    get isListening() {
      return server.listening
    },
    adoptConnection: (socket) => adopt(server, socket, connections),
    drain() {
      state.isDraining = true
    },
    stopAccepting() {
      server.close()
    },
    async close(deadlineMs) {
      state.isDraining = true
      // A server waits for the connections that it accepted itself, and does not know those that were handed over.
      const allClosed = Promise.all([connections.allClosed(), new Promise((resolve) => server.close(resolve))])
      protocols.closeConnections(deadlineMs)
      for (const socket of sockets)
        if (
          hasReceivedNothing(socket) ||
          protocols.isInHandshake(socket) ||
          acceptors.some((acceptor) => acceptor.isAwaited(socket))
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

// The ALPN names; some clients still ask for HTTP/1.0 by name.
const http1Protocols = ['http/1.1', 'http/1.0']

/** Creates what is spoken on the connections of a listener: TLS, HTTP/1, and what features bring. */
const createProtocols = async (options: ProtocolsOptions) => {
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
    /** Takes a connection of which nothing has been read. */
    accept: tls === null ? acceptHttp1 : acceptTls,
    isInHandshake: (socket: Socket) => tls !== null && !('encrypted' in socket),
    /** Prepares a new configuration, and returns what applies it. Throws when a certificate is not accepted. */
    prepareConfig(next: ListenConfig) {
      const applyTls = tls?.prepareConfig(next)
      return () => {
        applyTls?.()
        for (const protocol of negotiated.values()) protocol.applyConfig(next)
      }
    },
    /** Lets every connection end, before `deadlineMs` where it can. */
    closeConnections(deadlineMs: number) {
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

/** Serves a connection that another process accepted. */
const adopt = (server: NetServer, socket: Socket, { isClosed, sockets, rejected }: OpenConnections): void => {
  if (isClosed) return void socket.destroy()
  if (sockets.size >= server.maxConnections) {
    rejected.record()
    return void socket.destroy()
  }
  // As on the connections that are accepted here.
  socket.allowHalfOpen = true
  socket.setNoDelay(true)
  server.emit('connection', socket)
}

/** Creates a random name for `Via`: a second gateway in the chain is no loop, the same one is. */
export const createPseudonym = (): string => `lender-gateway-${randomId().slice(0, 8)}`
