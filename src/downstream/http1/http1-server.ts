import type { RequestListener, Server } from 'node:http'
import type { Server as NetServer, Socket } from 'node:net'
import { CoalescedTimer } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import { createServer } from '../../node-http.ts'
import { getActiveRequests } from '../listener/client-connection.ts'
import type { ClientErrorHandler } from '../listener/client-error.ts'
import { asHttp1Response, Http1Response } from './http1-response.ts'
import { LeanIncomingMessage } from './lean-incoming-message.ts'

/**
 * Creates the HTTP/1 server of the listener; {@link applyLimits} sets the limits that Node enforces. It does not listen
 * yet.
 */
export const createHttp1Server = (
  listen: ListenConfig,
  onRequest: RequestListener,
  clientErrors: ClientErrorHandler,
): Server => {
  const server = createServer(
    {
      // Host is checked with the rest of the head, so that the error has the shape of all others.
      requireHostHeader: false,
      // A total for the body would cut off clients with much to send. The gap between its chunks is limited instead.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1000, Math.max(10, Math.floor(listen.timeouts.headers / 20))),
      insecureHTTPParser: false,
      IncomingMessage: LeanIncomingMessage,
      ServerResponse: Http1Response,
      // Otherwise a request without a body goes through the whole life of a stream that is never read.
      optimizeEmptyRequests: true,
    },
    onRequest,
  )
  allowHalfOpen(server)
  server.maxHeadersCount = 0 // counted with the rest of the head: the parser would silently cut the list short
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', onRequest)
  server.on('connect', (_request, socket) => clientErrors.onConnect(socket as never))
  return server
}

/**
 * Sets the limits that Node enforces: `server` speaks HTTP, `listeningServer` accepts. Open connections keep the size
 * of head that they began with.
 */
export const applyLimits = (server: Server, listeningServer: NetServer, listen: ListenConfig): void => {
  // The limits on target and fields are checked later; this one only keeps the parser from reading for ever.
  const parsed: Server & { maxHeaderSize?: number } = server
  parsed.maxHeaderSize = listen.maxTarget + listen.maxHeaders + 1024
  server.headersTimeout = listen.timeouts.headers
  server.keepAliveTimeout = listen.timeouts.keepAlive
  listeningServer.maxConnections = listen.maxConnections ?? Number.POSITIVE_INFINITY
}

/**
 * Makes an HTTP server leave open the connection of a client that has ended its side, until the responses due have gone
 * out. The property is not documented. Seen on Node 24.21.
 */
export const allowHalfOpen = (server: Server): void => void Object.assign(server, { httpAllowHalfOpen: true })

// Every response begins so, whatever the client's version. After each probe the wait doubles.
const statusLinePrefix = 'HTTP/1.1 '
const firstWaitMs = 125
const maxWaitMs = 16_000

/**
 * Finds out whether a client that has ended its side (FIN, or close_notify) after its request still reads. TCP shows no
 * difference between a client that has sent all and waits, and one that has closed. But the system of a client that has
 * closed replies to a write with a reset, and the next write fails, which aborts the exchange. So the beginning of the
 * response goes out ahead, byte by byte. Once the head is out, an empty write tests whether what was written of the
 * response is accepted: nothing else does while it pauses, for Node reads no more after the end.
 */
export const probeHalfClosed = (socket: Socket): void => {
  const activeRequest = getActiveRequests(socket)[0]
  if (activeRequest === undefined || !activeRequest.request.complete) return
  const response = asHttp1Response(activeRequest.response)
  let waitMs = firstWaitMs
  const probe = (): void => {
    const isAhead = !response.headersSent && response.charsSentAhead < statusLinePrefix.length
    socket.write(isAhead ? statusLinePrefix.charAt(response.charsSentAhead++) : '')
    timer.set(waitMs)
    waitMs = Math.min(2 * waitMs, maxWaitMs)
  }
  const timer = new CoalescedTimer(probe)
  response.once('close', () => timer.clear())
  probe()
}
