import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { fastify } from 'fastify'
import { within } from '../clock.ts'
import type { ListenConfig } from '../config/config.ts'
import type { Log } from '../observe/log.ts'
import { descriptorOf, listenAt, type Place } from '../shared/place.ts'
import type { Live } from '../snapshot/live.ts'
import { accounts } from './accounts.ts'
import { Arrival } from './arrival.ts'
import { currentEdge } from './edge.ts'
import { type Front, front } from './front.ts'
import { mount } from './mount.ts'
import { makeId } from './request-id.ts'
import { type Stray, stray } from './stray.ts'

/** Is the only listener that clients see. */
export interface PublicServer {
  readonly address: AddressInfo
  /** Tells the descriptor that it listens on; null: it does no more, or another process does it. */
  descriptor(): number | null
  /** Takes over the bounds of a new configuration; where it listens stays. */
  bound(listen: ListenConfig): void
  /** Serves a connection that another process accepted, unless there are as many as may be. */
  take(socket: Socket): void
  /** Goes on accepting and serving, but from now on every answer ends its connection. */
  drain(): void
  /** Accepts nothing new from now on, and goes on serving the connections that are open, those too that are idle. */
  leave(): void
  /** Accepts nothing new, lets every answer end its connection, and cuts what is left after the deadline. */
  close(deadlineMs: number): Promise<void>
}

/** Says otherwise than the file. */
export interface PublicServerOptions {
  /** `elsewhere`: another process listens, and hands connections over. */
  readonly place?: Place | 'elsewhere' | undefined
  /** Names the gateway in `Via`, where the file does not. */
  readonly pseudonym?: string
}

/** Opens the public listener, where the file says unless told otherwise. Rejects when it cannot listen there. */
export const openPublicServer = async (
  live: Live,
  log: Log,
  { place, pseudonym = makePseudonym() }: PublicServerOptions = {},
): Promise<PublicServer> => {
  const { listen } = live.current.config
  const edge = currentEdge(live)
  const records = accounts(log, () => live.current.config)
  let draining = false
  const door = front({
    live,
    currentEdge: edge,
    accounts: records,
    pseudonym: listen.via ?? pseudonym,
    draining: () => draining,
  })

  // Hooks would be too late: Fastify decodes the target first, and matches what is not one of the nine.
  const strays = stray(edge, records)
  const app = fastify({
    serverFactory: (enter) => httpServer(listen, door, strays, enter as RequestListener),
    // Fastify listens for these itself, and would write an answer of its own beside ours.
    clientErrorHandler: (error, socket) => strays.parserError(error, socket),
    logger: false,
    exposeHeadRoutes: false,
    genReqId: () => '',
    return503OnClosing: false,
    routerOptions: { querystringParser: () => ({}) },
  })
  app.setErrorHandler((error, request, reply) => {
    reply.hijack()
    door.fail(request.raw, error)
  })
  mount(app, (request) => door.serve(request.raw))
  await app.ready()
  const server = app.server as Server
  // Node's own list leaves out those that it has let go of (CONNECT), and `close` would wait for them beyond the deadline.
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  if (place !== 'elsewhere') await listenAt(server, place ?? listen)
  else server.emit('listening') // Node watches over connections, and their timeouts, from then on only

  return {
    address: server.address() as AddressInfo,
    bound: (bounds) => bound(server, bounds),
    descriptor: () => descriptorOf(server),
    take(socket) {
      if (sockets.size >= server.maxConnections) return void socket.destroy()
      // As Node's own server has those that it accepts.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      server.emit('connection', socket)
    },
    drain() {
      draining = true
    },
    leave() {
      // Not the server's own: that closes idle connections at once, and one of them may be about to bring a request.
      NetServer.prototype.close.call(server)
    },
    async close(deadlineMs) {
      draining = true
      // Node waits for those that it accepted itself, and knows nothing of those that were handed over.
      const left = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      const closed = Promise.all([new Promise((resolve) => server.close(resolve)), ...left])
      // Node closes those that wait for another request, but takes a first one to be under way from the moment of connecting.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      if (!(await within(deadlineMs, closed))) for (const socket of sockets) socket.destroy()
      await closed
      await app.close()
    },
  }
}

/** Makes a name for `Via` at random: a second gateway in the chain is no loop, the same one is. */
export const makePseudonym = (): string => `lender-gateway-${makeId().slice(0, 8)}`

const httpServer = (listen: ListenConfig, door: Front, strays: Stray, enter: RequestListener): Server => {
  const arrive: RequestListener = (request, response) => door.arrive(request, response, enter)
  const server = createServer(
    {
      // Host is checked with the rest of the head, for an answer in the shape of the others.
      requireHostHeader: false,
      // A total for the body would cut off whoever has much to send. The gap between its pieces is bounded instead.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1000, Math.max(10, Math.floor(listen.headersTimeoutMs / 20))),
      insecureHTTPParser: false,
      IncomingMessage: Arrival,
      // Or a request without a body goes through the whole life of a stream that nobody reads.
      optimizeEmptyRequests: true,
    },
    arrive,
  )
  server.maxHeadersCount = 0 // counted with the rest of the head: the parser would silently cut the list short
  bound(server, listen)
  server.on('checkContinue', arrive)
  server.on('checkExpectation', arrive)
  server.on('connect', (_request, socket) => strays.connect(socket as never))
  return server
}

/** Sets the bounds that Node holds. Connections that are open keep the size of head that they began with. */
const bound = (server: Server, listen: ListenConfig): void => {
  // The bounds on target and fields are checked apart; this one only keeps the parser from reading for ever.
  const parsed: Server & { maxHeaderSize?: number } = server
  parsed.maxHeaderSize = listen.maxTargetBytes + listen.maxHeaderBytes + 1024
  server.headersTimeout = listen.headersTimeoutMs
  server.keepAliveTimeout = listen.keepAliveTimeoutMs
  server.maxConnections = listen.maxConnections ?? Number.POSITIVE_INFINITY
}
