import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import {
  getProxyHeader,
  hasReceivedNothing,
  inheritProxyHeader,
} from '../../../features/proxy-protocol/proxied-connections.ts'
import { type CountConnection, createProxyAcceptor } from '../../../features/proxy-protocol/proxy-acceptor.ts'
import type { ListenConfig } from '../../config/config.ts'
import { settlesWithin } from '../../lib/clock.ts'
import { maxClientFiles, maxOpenFiles } from '../../lib/file-descriptor.ts'
import { type BindTarget, listenAt } from '../../lib/net/bind-target.ts'
import type { Log } from '../../log/log.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/current-snapshot.ts'
import { createHttp1Server } from '../http1/http1-server.ts'
import { registerRoutes } from '../request/fastify-routes.ts'
import { createRequestHandler } from '../request/request-handler.ts'
import { randomId } from '../request/request-head.ts'
import { createTicketSecret } from '../tls/session-tickets.ts'
import { createClientErrorHandler } from './client-error.ts'
import { createListenerConfigGetter } from './listener-config.ts'
import { getRemoteAddress } from './peer.ts'
import { PerAddressConnectionLimit } from './per-address-limit.ts'
import { createRejectedConnectionLog } from './rejected-connections.ts'

export interface DownstreamServer {
  readonly address: AddressInfo
  /** Whether it listens: not after `stopAccepting`, and never where another process accepts. */
  readonly isListening: boolean
  /**
   * Prepares the limits and the certificates of a new configuration, and returns what applies them; where it listens
   * stays. Throws when a certificate is not accepted.
   */
  prepareConfig(listen: ListenConfig): () => void
  /** Serves a connection that another process accepted, unless the limit of connections is reached. */
  adoptConnection(socket: Socket): void
  /** Goes on accepting and serving, but from now on every response ends its connection. */
  drain(): void
  /** Accepts nothing new from now on, and goes on serving the open connections, idle ones too. */
  stopAccepting(): void
  /** Accepts nothing new, lets every response end its connection, and cuts what is left after the deadline. */
  close(deadlineMs: number): Promise<void>
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
   * Counts a connection by the address in its PROXY protocol header, where another process counts for all; false: the
   * address has as many as it may have. Default: all connections are counted here.
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
    ticketSecret = createTicketSecret(),
    countElsewhere,
    worker,
  }: DownstreamServerOptions = {},
): Promise<DownstreamServer> => {
  const { listen } = currentSnapshot.value.config
  const getListenerConfig = createListenerConfigGetter(currentSnapshot)
  let draining = false
  let cutting = false
  let closed = false
  const clientErrors = createClientErrorHandler(getListenerConfig, currentSnapshot)
  const handleRequest = createRequestHandler({
    currentSnapshot,
    getListenerConfig,
    pseudonym: listen.via ?? pseudonym,
    draining: () => draining,
    cutting: () => cutting,
  })
  const http1 = createHttp1Server({
    getListenerConfig,
    clientErrors,
    onRequest: (request, response) => routes.route(request, response),
  })
  const { server } = http1
  const routes = await registerRoutes(getListenerConfig, handleRequest)
  const sockets = new Set<Socket>()
  const addressLimit = new PerAddressConnectionLimit()
  if (countElsewhere === undefined) addressLimit.applyConfig(listen)
  const workerField = worker === undefined ? {} : { worker }
  const { rejectedConnections: counts } = currentSnapshot.value.processLoad
  const rejectedConnections = createRejectedConnectionLog(log, 'maxConnections', counts, workerField)
  const rejectedPerAddress = createRejectedConnectionLog(log, 'maxConnectionsPerAddress', counts)
  const remember = (socket: Socket): void => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  const track = (socket: Socket): boolean => {
    // Reset before it was accepted, as HAProxy ends its checks, or right behind its handshake: no response can reach
    // the client, and its address is gone. Its request would pass the limits, and stand in the log, as one of no
    // address.
    if (socket.remoteAddress === undefined) {
      socket.destroy()
      return false
    }
    // A TLS socket on a connection is not another connection. And a load balancer stands for all of its clients.
    const slot =
      'encrypted' in socket || getProxyHeader(socket)?.address === null
        ? null
        : addressLimit.acquire(getRemoteAddress(socket))
    if (slot === false) {
      rejectedPerAddress.record()
      socket.destroy()
      return false
    }
    if (!sockets.has(socket)) remember(socket)
    if (slot !== null) socket.once('close', () => addressLimit.release(slot))
    return true
  }
  server.on('connection', (socket) => {
    if (track(socket)) http1.accept(socket)
  })
  // A reload changes neither: a module that is off is never loaded.
  const http2Sessions = listen.http2
    ? (await import('../http2/sessions.ts')).createHttp2Sessions({
        handleRequest,
        getListenerConfig,
        clientErrors,
        routeRequest: routes.route,
        isDraining: () => draining,
      })
    : null
  const tlsAcceptor =
    listen.tls &&
    (await import('../tls/tls-acceptor.ts')).createTlsAcceptor({
      listen,
      tls: listen.tls,
      log,
      ticketSecret,
      protocols: listen.http2 ? ['h2', ...http1Protocols] : http1Protocols,
      onHandshake(socket, getGroup) {
        const { config, telemetry } = currentSnapshot.value
        if (config.metrics !== null)
          telemetry.requestMetrics.handshakes.count(socket.getProtocol() ?? '', getGroup(socket))
      },
      onSecure(socket, raw) {
        inheritProxyHeader(socket, raw)
        sockets.delete(raw) // it closes with the TLS socket on it
        if (socket.alpnProtocol !== 'h2') return void server.emit('connection', socket)
        if (track(socket)) http2Sessions?.accept(socket)
      },
      onPlaintext: (socket, first) => clientErrors.onPlainHttp(socket, first),
    })
  // Where a client has to pass the TLS acceptor first, the HTTP server itself does not listen.
  const listeningServer: NetServer =
    tlsAcceptor === null ? server : createServer({ allowHalfOpen: true, noDelay: true })
  if (tlsAcceptor !== null)
    listeningServer.on('connection', (socket) => {
      if (track(socket)) tlsAcceptor.accept(socket)
    })
  const takeConnection = listeningServer.listeners('connection')
  const proxyAcceptor = createProxyAcceptor({
    listen,
    onConnection: (socket) => {
      for (const take of takeConnection) take.call(listeningServer, socket)
    },
    onAwaited: remember,
    countElsewhere,
    onFailure: (sender, failure) => clientErrors.reportUnparsed(sender, failure),
  })
  /** Puts the acceptor before all else that a connection meets, or takes it out of the way. */
  const applyProxyProtocol = ({ proxyProtocol }: ListenConfig): void => {
    listeningServer.removeAllListeners('connection')
    for (const take of proxyProtocol === null ? takeConnection : [proxyAcceptor.accept])
      listeningServer.on('connection', take as (socket: Socket) => void)
  }
  applyProxyProtocol(listen)
  const isInHandshake = (socket: Socket): boolean => tlsAcceptor !== null && !('encrypted' in socket)
  listeningServer.on('drop', () => rejectedConnections.record())
  // The rest of the descriptors is kept: a flood of connections must not keep probes, operators and upstreams out.
  const maxFiles = maxClientFiles(maxOpenFiles())
  const applyLimits = ({ maxConnections }: ListenConfig): void => {
    listeningServer.maxConnections = Math.min(maxConnections ?? Number.POSITIVE_INFINITY, maxFiles)
  }
  applyLimits(listen)
  if (bindTarget !== 'elsewhere') await listenAt(listeningServer, bindTarget ?? listen)

  return {
    address: listeningServer.address() as AddressInfo,
    prepareConfig(nextListen) {
      const applyTls = tlsAcceptor?.prepareConfig(nextListen)
      return () => {
        applyLimits(nextListen)
        if (countElsewhere === undefined) addressLimit.applyConfig(nextListen)
        proxyAcceptor.applyConfig(nextListen)
        applyProxyProtocol(nextListen)
        applyTls?.()
        http2Sessions?.applyConfig(nextListen)
      }
    },
    get isListening() {
      return listeningServer.listening
    },
    adoptConnection(socket) {
      if (closed) return void socket.destroy()
      if (sockets.size >= listeningServer.maxConnections) {
        rejectedConnections.record()
        return void socket.destroy()
      }
      // As on the connections that are accepted here.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      listeningServer.emit('connection', socket)
    },
    drain() {
      draining = true
    },
    stopAccepting() {
      listeningServer.close()
    },
    async close(deadlineMs) {
      draining = true
      // A server waits for the connections that it accepted itself, and does not know those that were handed over.
      const socketClosures = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      http2Sessions?.close(deadlineMs)
      const allClosed = Promise.all([...[server, listeningServer].map(closeServer), ...socketClosures])
      http1.closeConnections()
      for (const socket of sockets)
        if (hasReceivedNothing(socket) || isInHandshake(socket) || proxyAcceptor.isAwaited(socket)) socket.destroy()
      if (!(await settlesWithin(deadlineMs, allClosed))) {
        cutting = true
        for (const socket of sockets) socket.destroy()
      }
      await allClosed
      closed = true
      await routes.close()
      rejectedConnections.close()
      rejectedPerAddress.close()
    },
  }
}

// The ALPN names; some clients still ask for HTTP/1.0 by name.
const http1Protocols = ['http/1.1', 'http/1.0']

const closeServer = (server: NetServer): Promise<unknown> => new Promise((resolve) => server.close(resolve))

/** Creates a random name for `Via`: a second gateway in the chain is no loop, the same one is. */
export const createPseudonym = (): string => `lender-gateway-${randomId().slice(0, 8)}`
