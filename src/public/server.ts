import { type AddressInfo, createServer, Server as NetServer, type Socket } from 'node:net'
import { within } from '../clock.ts'
import type { ListenConfig } from '../config/config.ts'
import type { Log } from '../observe/log.ts'
import { listenAt, type Place } from '../shared/place.ts'
import type { Live } from '../snapshot/live.ts'
import { Crowd, turnedAway } from './crowd.ts'
import { currentEdge } from './edge.ts'
import { front } from './front.ts'
import { makeId } from './head.ts'
import { bound, httpServer, probeHalfClosed } from './listener.ts'
import { mount } from './mount.ts'
import { stray } from './stray.ts'
import { makeTicketSecret } from './tls/tickets.ts'

/** Is the only listener that clients see. */
export interface PublicServer {
  readonly address: AddressInfo
  /** Whether it listens: it does no more after `leave`, and never where another process accepts. */
  readonly isListening: boolean
  /** Takes over the bounds and the certificates of a new configuration; where it listens stays. */
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
  /** What the keys of session tickets are made from: whoever shares it resumes the sessions of the others. Default: made at random. */
  readonly ticketSecret?: string
  /** Which of several processes serves here, for the log. */
  readonly worker?: number
}

/** Opens the public listener, where the file says unless told otherwise. Rejects when it cannot listen there. */
export const openPublicServer = async (
  live: Live,
  log: Log,
  { place, pseudonym = makePseudonym(), ticketSecret = makeTicketSecret(), worker }: PublicServerOptions = {},
): Promise<PublicServer> => {
  const { listen } = live.current.config
  const edge = currentEdge(live)
  let draining = false
  const strays = stray(edge, live)
  const serve = front({
    live,
    currentEdge: edge,
    pseudonym: listen.via ?? pseudonym,
    draining: () => draining,
  })
  const app = mount((route) => httpServer(listen, route, strays), strays, edge, serve)
  await app.ready()
  const { server } = app
  // Node's own list leaves out those that it has let go of (CONNECT), and `close` would wait for them beyond the deadline.
  const sockets = new Set<Socket>()
  const crowd = new Crowd()
  crowd.bound(listen)
  const who = worker === undefined ? {} : { worker }
  const { turnedAway: counts } = live.current.pressure
  const tooMany = turnedAway(log, 'maxConnections', counts, who)
  const tooManyOfOne = turnedAway(log, 'maxConnectionsPerAddress', counts)
  const keep = (socket: Socket): boolean => {
    // What stands on another connection is not another one.
    const counted = 'encrypted' in socket ? null : crowd.enter(socket.remoteAddress)
    if (counted === false) {
      tooManyOfOne.count()
      socket.destroy()
      return false
    }
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      if (counted !== null) crowd.leave(counted)
    })
    return true
  }
  server.on('connection', (socket) => {
    if (keep(socket)) socket.once('end', () => probeHalfClosed(socket))
  })
  // Neither is changed by a reload: what is off is never loaded.
  const multiplexed = listen.http2
    ? (await import('./http2/sessions.ts')).sessions({
        ...{ serve, currentEdge: edge, strays },
        enter: (request, response) => app.routing(request, response),
      })
    : null
  const gate =
    listen.tls &&
    (await import('./tls/gate.ts')).openGate({
      ...{ listen, tls: listen.tls, log, ticketSecret, protocols: listen.http2 ? ['h2', ...protocols] : protocols },
      secured(socket, raw) {
        sockets.delete(raw) // it closes with the one that stands on it
        if (socket.alpnProtocol !== 'h2') return void server.emit('connection', socket)
        keep(socket)
        multiplexed?.take(socket)
      },
      unsecured: (socket, first) => strays.plainHttp(socket, first),
    })
  // Where a client has to come through the gate first, the HTTP server itself listens nowhere.
  const entrance: NetServer = gate === null ? server : createServer({ allowHalfOpen: true, noDelay: true })
  if (gate !== null)
    entrance.on('connection', (socket) => {
      if (keep(socket)) gate.take(socket)
    })
  const isInHandshake = (socket: Socket): boolean => gate !== null && !('encrypted' in socket)
  entrance.on('drop', () => tooMany.count())
  bound(server, entrance, listen)
  if (place !== 'elsewhere') await listenAt(entrance, place ?? listen)
  if (!server.listening) server.emit('listening') // Node watches over connections, and their timeouts, from then on only

  return {
    address: entrance.address() as AddressInfo,
    bound(bounds) {
      bound(server, entrance, bounds)
      crowd.bound(bounds)
      gate?.renew(bounds)
    },
    get isListening() {
      return entrance.listening
    },
    take(socket) {
      if (sockets.size >= entrance.maxConnections) {
        tooMany.count()
        return void socket.destroy()
      }
      // As Node's own server has those that it accepts.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      entrance.emit('connection', socket)
    },
    drain() {
      draining = true
    },
    leave() {
      // Not the server's own: that closes idle connections at once, and one of them may be about to bring a request.
      NetServer.prototype.close.call(entrance)
    },
    async close(deadlineMs) {
      draining = true
      // Node waits for those that it accepted itself, and knows nothing of those that were handed over.
      const left = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      multiplexed?.close()
      const over = Promise.all([...[server, entrance].map(closed), ...left])
      // Node closes those that wait for another request, but takes a first one to be under way from the moment of connecting.
      for (const socket of sockets) if (socket.bytesRead === 0 || isInHandshake(socket)) socket.destroy()
      if (!(await within(deadlineMs, over))) for (const socket of sockets) socket.destroy()
      await over
      await app.close()
      tooMany.close()
      tooManyOfOne.close()
    },
  }
}

// What ALPN names; somebody still asks for HTTP/1.0 by name.
const protocols = ['http/1.1', 'http/1.0']

const closed = (server: NetServer): Promise<unknown> => new Promise((resolve) => server.close(resolve))

/** Makes a name for `Via` at random: a second gateway in the chain is no loop, the same one is. */
export const makePseudonym = (): string => `lender-gateway-${makeId().slice(0, 8)}`
