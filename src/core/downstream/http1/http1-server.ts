import { createServer, type Server, type Socket } from 'node:net'
import { Http1Connection, type Http1ConnectionOptions } from './http1-connection.ts'

export interface Http1Server {
  /** The server that Fastify routes for. It need not listen: connections may be given to it. */
  readonly server: Server
  /** Takes a connection of which nothing has been read. */
  accept(socket: Socket): void
  /** Closes each connection when no request is under way on it. The server goes on listening, if it does. */
  closeConnections(): void
}

export const createHttp1Server = (listener: Omit<Http1ConnectionOptions, 'isClosing'>): Http1Server => {
  let isClosing = false
  const options = { ...listener, isClosing: () => isClosing }
  const connections = new Set<Http1Connection>()
  return {
    // A client that has ended its side may still read.
    server: createServer({ allowHalfOpen: true, noDelay: true }),
    accept(socket) {
      const connection = new Http1Connection(socket, options)
      connections.add(connection)
      socket.once('close', () => connections.delete(connection))
    },
    closeConnections() {
      isClosing = true
      for (const connection of connections) connection.closeIfIdle()
    },
  }
}
