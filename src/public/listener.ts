import type { RequestListener, Server } from 'node:http'
import type { Server as NetServer } from 'node:net'
import type { ListenConfig } from '../config/config.ts'
import { createServer } from '../node-http.ts'
import { Arrival } from './arrival.ts'
import { allowHalfOpen } from './half-closed.ts'
import { Http1Response } from './http1-response.ts'
import type { Stray } from './stray.ts'

/** Makes the HTTP server of the public listener; {@link bound} sets what else Node holds. It listens nowhere yet. */
export const httpServer = (listen: ListenConfig, arrive: RequestListener, strays: Stray): Server => {
  const server = createServer(
    {
      // Host is checked with the rest of the head, for an answer in the shape of the others.
      requireHostHeader: false,
      // A total for the body would cut off whoever has much to send. The gap between its pieces is bounded instead.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1000, Math.max(10, Math.floor(listen.timeouts.headers / 20))),
      insecureHTTPParser: false,
      IncomingMessage: Arrival,
      ServerResponse: Http1Response,
      // Or a request without a body goes through the whole life of a stream that nobody reads.
      optimizeEmptyRequests: true,
    },
    arrive,
  )
  allowHalfOpen(server)
  server.maxHeadersCount = 0 // counted with the rest of the head: the parser would silently cut the list short
  server.on('checkContinue', arrive)
  server.on('checkExpectation', arrive)
  server.on('connect', (_request, socket) => strays.connect(socket as never))
  return server
}

/**
 * Sets the bounds that Node holds: `server` speaks HTTP, `entrance` accepts. Connections that are open keep the size of
 * head that they began with.
 */
export const bound = (server: Server, entrance: NetServer, listen: ListenConfig): void => {
  // The bounds on target and fields are checked apart; this one only keeps the parser from reading for ever.
  const parsed: Server & { maxHeaderSize?: number } = server
  parsed.maxHeaderSize = listen.maxTarget + listen.maxHeaders + 1024
  server.headersTimeout = listen.timeouts.headers
  server.keepAliveTimeout = listen.timeouts.keepAlive
  entrance.maxConnections = listen.maxConnections ?? Number.POSITIVE_INFINITY
}
