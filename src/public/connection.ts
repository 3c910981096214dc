import type { Socket } from 'node:net'
import { Alarm } from '../clock.ts'
import type { Edge } from './edge.ts'
import { type Peer, peerOf } from './peer.ts'
import type { Visit } from './visit.ts'

/** Is what must be remembered of a client's connection from one request to the next. */
export interface Connection {
  edge: Edge
  peer: Peer
  /** The visits whose answers are not complete, oldest first. */
  readonly running: Visit[]
  /** Ends the connection when no request has come for too long. */
  readonly idle: Alarm
  /** How many requests have come in all. */
  served: number
  /** Whether an answer has said that it is the last: whatever follows is not served (RFC 9112 §9.6). */
  closing: boolean
}

const connections = new WeakMap<Socket, Connection>()

/** Finds the record of a connection, or begins one; the peer is judged anew when the configuration has changed. */
export const connectionOf = (socket: Socket, edge: Edge): Connection => {
  const known = connections.get(socket)
  if (known?.edge === edge) return known
  const peer = peerOf(socket, edge.isTrusted)
  if (known !== undefined) return Object.assign(known, { edge, peer })
  const connection = { edge, peer, running: [], idle: idleOf(socket), served: 0, closing: false }
  connections.set(socket, connection)
  return connection
}

/**
 * Makes what ends a connection between two requests. Node sees to that in part: it starts its clock for keep-alive over with each byte, and
 * the one for the head with the first byte of a request, which neither empty lines are nor the rest of a body that was refused.
 */
const idleOf = (socket: Socket): Alarm => {
  const idle = new Alarm(() => socket.destroy())
  socket.once('close', () => idle.clear())
  return idle
}

/** Lists the visits on a connection whose answers are not complete, oldest first. */
export const runningOn = (socket: Socket): readonly Visit[] => connections.get(socket)?.running ?? []

/** Tells how many bytes a request on a connection may have at most. */
export const mostBodyBytes = (socket: Socket): number => connections.get(socket)?.edge.maxBodyBytes ?? 0

/** Notes that the answer now given on a connection is its last. */
export const closeAfterAnswer = (socket: Socket): void => {
  const known = connections.get(socket)
  if (known !== undefined) known.closing = true
}

/**
 * A connection with the parser that Node's HTTP server has put on it. `onIncoming` takes each request that was parsed; what it
 * returns tells the parser how to go on. Neither is documented, though both are as old as Node's parser. Seen on Node 24.21.
 */
type Parsed = Socket & { readonly parser?: { onIncoming: unknown } | null }

// What an upgrade returns: HTTP ends here. The rest of the packet, and all that follows, is dropped.
const endOfRequests = (): number => 2

/** Has Node make no further request of what a connection brings. The responses that are due go out meanwhile. */
export const parseNoMore = ({ parser }: Parsed): void => {
  if (parser != null) parser.onIncoming = endOfRequests
}
