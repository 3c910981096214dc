import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import type { ListenConfig } from '../../config/config.ts'
import { settlesWithin } from '../../lib/clock.ts'
import { maxClientFiles, maxOpenFiles } from '../../lib/file-descriptor.ts'
import { type BindTarget, listenAt } from '../../lib/net/bind-target.ts'
import type { Log } from '../../log/log.ts'
import type { ProxyServer } from '../../runtime/proxy-server.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { randomId } from '../request/request-head.ts'
import { createTicketSecret } from '../tls/session-tickets.ts'
import { createClientErrorHandler } from './client-error.ts'
import { hasReceivedNothing } from './connection-claims.ts'
import { createListenerConfigGetter } from './listener-config.ts'
import type { ConnectionAcceptor, CountConnection } from './listener-part.ts'
import { listenerParts } from './listener-parts.ts'
import { OpenConnections } from './open-connections.ts'
import { createProtocols } from './protocols.ts'

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
    ticketSecret = createTicketSecret(),
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
