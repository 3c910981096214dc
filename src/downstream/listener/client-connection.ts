import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../clock.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import type { CompiledListenerConfig } from './listener-config.ts'
import { createPeer, type Peer } from './peer.ts'

/** The state of a client's connection from one request to the next. */
export interface ClientConnection {
  listenerConfig: CompiledListenerConfig
  peer: Peer
  /** The requests whose responses are not complete, oldest first. */
  readonly activeRequests: ActiveRequest[]
  /** Ends the connection when no request has come for too long. */
  readonly idleTimer: CoalescedTimer
  /** The number of requests so far. */
  requestCount: number
  /** Whether a response has said that it is the last: whatever follows is not served (RFC 9112 §9.6). */
  closing: boolean
}

const connections = new WeakMap<Socket, ClientConnection>()

/** Finds the state of a connection, or creates it; the peer is judged anew when the configuration has changed. */
export const getClientConnection = (socket: Socket, listenerConfig: CompiledListenerConfig): ClientConnection => {
  const known = connections.get(socket)
  if (known?.listenerConfig === listenerConfig) return known
  const peer = createPeer(socket, listenerConfig.isTrusted)
  if (known !== undefined) return Object.assign(known, { listenerConfig, peer })
  const connection = {
    listenerConfig,
    peer,
    activeRequests: [],
    idleTimer: createIdleTimer(socket),
    requestCount: 0,
    closing: false,
  }
  connections.set(socket, connection)
  return connection
}

/**
 * Creates the timer that ends a connection between two requests. Node's timeouts do so in part: the one for keep-alive
 * starts over with each byte, and the one for the head starts with the first byte of a request, which neither empty
 * lines are nor the rest of a rejected body.
 */
const createIdleTimer = (socket: Socket): CoalescedTimer => {
  const timer = new CoalescedTimer(() => socket.destroy())
  socket.once('close', () => timer.clear())
  return timer
}

/** Lists the requests on a connection whose responses are not complete, oldest first. */
export const getActiveRequests = (socket: Socket): readonly ActiveRequest[] =>
  connections.get(socket)?.activeRequests ?? []

/** Returns the maximum body of a request on a connection, in bytes. */
export const getMaxBodyBytes = (socket: Socket): number => connections.get(socket)?.listenerConfig.maxBodyBytes ?? 0

/** Notes that the current response on a connection is its last. */
export const closeAfterResponse = (socket: Socket): void => {
  const known = connections.get(socket)
  if (known !== undefined) known.closing = true
}

/**
 * A connection with the parser that Node's HTTP server has put on it. `onIncoming` takes each request that was parsed;
 * its return value tells the parser how to go on. Neither is documented, though both are as old as Node's parser. Seen
 * on Node 24.21.
 */
type SocketWithParser = Socket & { readonly parser?: { onIncoming: unknown } | null }

// What an upgrade returns: HTTP ends here. The rest of the packet, and all that follows, is dropped.
const endParsing = (): number => 2

/** Stops Node from parsing further requests of a connection. The responses that are due go out meanwhile. */
export const stopParsing = ({ parser }: SocketWithParser): void => {
  if (parser != null) parser.onIncoming = endParsing
}
