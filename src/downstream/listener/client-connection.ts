import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../clock.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import type { CompiledListenerConfig } from './listener-config.ts'
import { createPeer, type Peer } from './peer.ts'

/** Is what must be remembered of a client's connection from one request to the next. */
export interface ClientConnection {
  listenerConfig: CompiledListenerConfig
  peer: Peer
  /** The visits whose answers are not complete, oldest first. */
  readonly activeRequests: ActiveRequest[]
  /** Ends the connection when no request has come for too long. */
  readonly idleTimer: CoalescedTimer
  /** How many requests have come in all. */
  requestCount: number
  /** Whether an answer has said that it is the last: whatever follows is not served (RFC 9112 §9.6). */
  closing: boolean
}

const connections = new WeakMap<Socket, ClientConnection>()

/** Finds the record of a connection, or begins one; the peer is judged anew when the configuration has changed. */
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
 * Makes what ends a connection between two requests. Node sees to that in part: it starts its clock for keep-alive over with each byte, and
 * the one for the head with the first byte of a request, which neither empty lines are nor the rest of a body that was refused.
 */
const createIdleTimer = (socket: Socket): CoalescedTimer => {
  const timer = new CoalescedTimer(() => socket.destroy())
  socket.once('close', () => timer.clear())
  return timer
}

/** Lists the visits on a connection whose answers are not complete, oldest first. */
export const getActiveRequests = (socket: Socket): readonly ActiveRequest[] =>
  connections.get(socket)?.activeRequests ?? []

/** Tells how many bytes a request on a connection may have at most. */
export const getMaxBodyBytes = (socket: Socket): number => connections.get(socket)?.listenerConfig.maxBodyBytes ?? 0

/** Notes that the answer now given on a connection is its last. */
export const closeAfterResponse = (socket: Socket): void => {
  const known = connections.get(socket)
  if (known !== undefined) known.closing = true
}

/**
 * A connection with the parser that Node's HTTP server has put on it. `onIncoming` takes each request that was parsed; what it
 * returns tells the parser how to go on. Neither is documented, though both are as old as Node's parser. Seen on Node 24.21.
 */
type SocketWithParser = Socket & { readonly parser?: { onIncoming: unknown } | null }

// What an upgrade returns: HTTP ends here. The rest of the packet, and all that follows, is dropped.
const endParsing = (): number => 2

/** Has Node make no further request of what a connection brings. The responses that are due go out meanwhile. */
export const stopParsing = ({ parser }: SocketWithParser): void => {
  if (parser != null) parser.onIncoming = endParsing
}
