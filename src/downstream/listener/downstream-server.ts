import { type AddressInfo, createServer, Server as NetServer, type Socket } from 'node:net'
import { settlesWithin } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import type { Log } from '../../observe/log.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/current-snapshot.ts'
import { type BindTarget, listenAt } from '../../shared/bind-target.ts'
import { applyLimits, createHttp1Server, probeHalfClosed } from '../http1/http1-server.ts'
import { registerRoutes } from '../request/fastify-routes.ts'
import { createRequestHandler } from '../request/request-handler.ts'
import { randomId } from '../request/request-head.ts'
import { createTicketSecret } from '../tls/session-tickets.ts'
import { createClientErrorHandler } from './client-error.ts'
import { createRejectedConnectionLog, PerAddressConnectionLimit } from './connection-limits.ts'
import { createListenerConfigGetter } from './listener-config.ts'

/** Is the only listener that clients see. */
export interface DownstreamServer {
  readonly address: AddressInfo
  /** Whether it listens: it does no more after `leave`, and never where another process accepts. */
  readonly isListening: boolean
  /** Takes over the bounds and the certificates of a new configuration; where it listens stays. */
  applyConfig(listen: ListenConfig): void
  /** Serves a connection that another process accepted, unless there are as many as may be. */
  adoptConnection(socket: Socket): void
  /** Goes on accepting and serving, but from now on every answer ends its connection. */
  drain(): void
  /** Accepts nothing new from now on, and goes on serving the connections that are open, those too that are idle. */
  stopAccepting(): void
  /** Accepts nothing new, lets every answer end its connection, and cuts what is left after the deadline. */
  close(deadlineMs: number): Promise<void>
}

/** Says otherwise than the file. */
export interface DownstreamServerOptions {
  /** `elsewhere`: another process listens, and hands connections over. */
  readonly bindTarget?: BindTarget | 'elsewhere' | undefined
  /** Names the gateway in `Via`, where the file does not. */
  readonly pseudonym?: string
  /** What the keys of session tickets are made from: whoever shares it resumes the sessions of the others. Default: made at random. */
  readonly ticketSecret?: string
  /** Which of several processes serves here, for the log. */
  readonly worker?: number
}

/** Opens the public listener, where the file says unless told otherwise. Rejects when it cannot listen there. */
export const openDownstreamServer = async (
  currentSnapshot: CurrentSnapshot,
  log: Log,
  {
    bindTarget,
    pseudonym = createPseudonym(),
    ticketSecret = createTicketSecret(),
    worker,
  }: DownstreamServerOptions = {},
): Promise<DownstreamServer> => {
  const { listen } = currentSnapshot.value.config
  const getListenerConfig = createListenerConfigGetter(currentSnapshot)
  let draining = false
  const clientErrors = createClientErrorHandler(getListenerConfig, currentSnapshot)
  const handleRequest = createRequestHandler({
    currentSnapshot,
    getListenerConfig: getListenerConfig,
    pseudonym: listen.via ?? pseudonym,
    draining: () => draining,
  })
  const app = registerRoutes(
    (route) => createHttp1Server(listen, route, clientErrors),
    clientErrors,
    getListenerConfig,
    handleRequest,
  )
  await app.ready()
  const { server } = app
  // Node's own list leaves out those that it has let go of (CONNECT), and `close` would wait for them beyond the deadline.
  const sockets = new Set<Socket>()
  const addressLimit = new PerAddressConnectionLimit()
  addressLimit.applyConfig(listen)
  const workerField = worker === undefined ? {} : { worker }
  const { rejectedConnections: counts } = currentSnapshot.value.processLoad
  const rejectedConnections = createRejectedConnectionLog(log, 'maxConnections', counts, workerField)
  const rejectedPerAddress = createRejectedConnectionLog(log, 'maxConnectionsPerAddress', counts)
  const track = (socket: Socket): boolean => {
    // What stands on another connection is not another one.
    const slot = 'encrypted' in socket ? null : addressLimit.acquire(socket.remoteAddress)
    if (slot === false) {
      rejectedPerAddress.record()
      socket.destroy()
      return false
    }
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      if (slot !== null) addressLimit.release(slot)
    })
    return true
  }
  server.on('connection', (socket) => {
    if (track(socket)) socket.once('end', () => probeHalfClosed(socket))
  })
  // Neither is changed by a reload: what is off is never loaded.
  const http2Sessions = listen.http2
    ? (await import('../http2/sessions.ts')).createHttp2Sessions({
        ...{ handleRequest, getListenerConfig: getListenerConfig, clientErrors },
        routeRequest: (request, response) => app.routing(request, response),
      })
    : null
  const tlsAcceptor =
    listen.tls &&
    (await import('../tls/tls-acceptor.ts')).createTlsAcceptor({
      ...{
        listen,
        tls: listen.tls,
        log,
        ticketSecret,
        protocols: listen.http2 ? ['h2', ...http1Protocols] : http1Protocols,
      },
      onSecure(socket, raw) {
        sockets.delete(raw) // it closes with the one that stands on it
        if (socket.alpnProtocol !== 'h2') return void server.emit('connection', socket)
        track(socket)
        http2Sessions?.accept(socket)
      },
      onPlaintext: (socket, first) => clientErrors.onPlainHttp(socket, first),
    })
  // Where a client has to come through the gate first, the HTTP server itself listens nowhere.
  const listeningServer: NetServer =
    tlsAcceptor === null ? server : createServer({ allowHalfOpen: true, noDelay: true })
  if (tlsAcceptor !== null)
    listeningServer.on('connection', (socket) => {
      if (track(socket)) tlsAcceptor.accept(socket)
    })
  const isInHandshake = (socket: Socket): boolean => tlsAcceptor !== null && !('encrypted' in socket)
  listeningServer.on('drop', () => rejectedConnections.record())
  applyLimits(server, listeningServer, listen)
  if (bindTarget !== 'elsewhere') await listenAt(listeningServer, bindTarget ?? listen)
  if (!server.listening) server.emit('listening') // Node watches over connections, and their timeouts, from then on only

  return {
    address: listeningServer.address() as AddressInfo,
    applyConfig(nextListen) {
      applyLimits(server, listeningServer, nextListen)
      addressLimit.applyConfig(nextListen)
      tlsAcceptor?.applyConfig(nextListen)
    },
    get isListening() {
      return listeningServer.listening
    },
    adoptConnection(socket) {
      if (sockets.size >= listeningServer.maxConnections) {
        rejectedConnections.record()
        return void socket.destroy()
      }
      // As Node's own server has those that it accepts.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      listeningServer.emit('connection', socket)
    },
    drain() {
      draining = true
    },
    stopAccepting() {
      // Not the server's own: that closes idle connections at once, and one of them may be about to bring a request.
      NetServer.prototype.close.call(listeningServer)
    },
    async close(deadlineMs) {
      draining = true
      // Node waits for those that it accepted itself, and knows nothing of those that were handed over.
      const socketClosures = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      http2Sessions?.close()
      const allClosed = Promise.all([...[server, listeningServer].map(closeServer), ...socketClosures])
      // Node closes those that wait for another request, but takes a first one to be under way from the moment of connecting.
      for (const socket of sockets) if (socket.bytesRead === 0 || isInHandshake(socket)) socket.destroy()
      if (!(await settlesWithin(deadlineMs, allClosed))) for (const socket of sockets) socket.destroy()
      await allClosed
      await app.close()
      rejectedConnections.close()
      rejectedPerAddress.close()
    },
  }
}

// What ALPN names; somebody still asks for HTTP/1.0 by name.
const http1Protocols = ['http/1.1', 'http/1.0']

const closeServer = (server: NetServer): Promise<unknown> => new Promise((resolve) => server.close(resolve))

/** Makes a name for `Via` at random: a second gateway in the chain is no loop, the same one is. */
export const createPseudonym = (): string => `lender-gateway-${randomId().slice(0, 8)}`
