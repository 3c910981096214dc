import type { Socket } from 'node:net'
import type { Edge } from './edge.ts'
import { type Peer, peerOf } from './peer.ts'
import type { Visit } from './visit.ts'

/** Is what must be remembered of a client's connection from one request to the next. */
export interface Connection {
  readonly edge: Edge
  readonly peer: Peer
  /** The visits whose answers are not complete, oldest first. */
  readonly running: Visit[]
  /** How many requests have come in all. */
  served: number
  /** Whether an answer has said that it is the last: whatever follows is not served (RFC 9112 §9.6). */
  closing: boolean
  /** How many requests have come behind that answer. */
  unserved: number
}

const connections = new WeakMap<Socket, Connection>()

/** Finds the record of a connection, or begins one; the peer is judged anew when the configuration has changed. */
export const connectionOf = (socket: Socket, edge: Edge): Connection => {
  const known = connections.get(socket)
  if (known !== undefined && known.edge === edge) return known
  const connection = {
    edge,
    peer: peerOf(socket, edge.isTrusted),
    running: known?.running ?? [],
    served: known?.served ?? 0,
    closing: known?.closing ?? false,
    unserved: known?.unserved ?? 0,
  }
  connections.set(socket, connection)
  return connection
}

/** Notes that the answer now given on a connection is its last. */
export const closeAfterAnswer = (socket: Socket): void => {
  const known = connections.get(socket)
  if (known !== undefined) known.closing = true
}
