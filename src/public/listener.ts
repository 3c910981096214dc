import type { RequestListener, Server } from 'node:http'
import type { Server as NetServer, Socket } from 'node:net'
import { Alarm } from '../clock.ts'
import type { ListenConfig } from '../config/config.ts'
import { createServer } from '../node-http.ts'
import { Arrival } from './arrival.ts'
import { runningOn } from './connection.ts'
import { Http1Response, ownResponse } from './http1-response.ts'
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

/**
 * Has an HTTP server leave open the connection of a client that has ended its side, until the responses due have gone out. The property is not
 * documented. Seen on Node 24.21.
 */
export const allowHalfOpen = (server: Server): void => void Object.assign(server, { httpAllowHalfOpen: true })

// Every answer begins so, whatever the client's version. After each look the wait doubles.
const beginning = 'HTTP/1.1 '
const firstWaitMs = 125
const lastWaitMs = 16_000

/**
 * Finds out whether a client that has ended its side (FIN, or close_notify) after its request still reads. TCP says the same of one that
 * has sent all and waits, and of one that has closed. But the system of one that has closed answers what is written with a reset, and the
 * next write fails, which aborts the exchange. So the beginning of the answer goes out ahead, byte by byte. Once the head is out, an empty
 * write asks the same of what has been written of the answer: nothing else does while it pauses, for Node reads no more after the end.
 */
export const probeHalfClosed = (socket: Socket): void => {
  const visit = runningOn(socket)[0]
  if (visit === undefined || !visit.request.complete) return
  const response = ownResponse(visit.response)
  let waitMs = firstWaitMs
  const look = (): void => {
    const isAhead = !response.headersSent && response.ahead < beginning.length
    socket.write(isAhead ? beginning.charAt(response.ahead++) : '')
    next.set(waitMs)
    waitMs = Math.min(2 * waitMs, lastWaitMs)
  }
  const next = new Alarm(look)
  response.once('close', () => next.clear())
  look()
}
