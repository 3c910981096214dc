import { constants } from 'node:crypto'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { AdminConfig } from '../config/config.ts'
import { createServer } from '../exchange/node-http.ts'
import { setTrustAnchors } from '../lib/net/tls.ts'

// Operators and probes are few. A flood of this listener would otherwise take the descriptors that clients of the
// public one need.
const maxConnections = 256
const requestTimeoutMs = 10_000
// Longer than a reload may take, behind one that is under way.
const idleMs = 60_000

/**
 * Creates the server of the operator's listener. Not Fastify's own: for `localhost` that opens a second one, which
 * keeps the certificate it began with.
 */
export const createAdminListener = ({ tls }: AdminConfig, onRequest: RequestListener): Server => {
  const options = {
    requireHostHeader: false, // HAProxy's health checks send none
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1000,
  }
  const server: Server =
    tls === null
      ? createServer(options, onRequest)
      : createTlsServer({ ...options, ...tlsOptions(tls), handshakeTimeout: requestTimeoutMs }, onRequest)
  if (tls !== null) anchorClients(server, tls)
  server.setTimeout(idleMs)
  server.maxConnections = maxConnections
  const closeOldestWaiting = trackConnections(server)
  // Makes room for the next connection, a probe's among them.
  server.on('drop', () => {
    server.closeIdleConnections()
    closeOldestWaiting()
  })
  return server
}

/**
 * Tracks connections. Returns what closes the oldest of those that wait for their client: for a request, or for the
 * rest of one, which to Node are not idle. Else a few hundred of them would keep probes out for as long as a request
 * may take, and a gateway that serves would be taken for dead.
 */
const trackConnections = (server: Server): (() => void) => {
  const requests = new Map<string, { readonly socket: Socket; readonly request: IncomingMessage | null }>()
  // With TLS a request has another socket than its connection, with the same peer.
  const keyOf = ({ remoteAddress, remotePort, localAddress }: Socket) =>
    `${remoteAddress} ${remotePort} ${localAddress}`
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    requests.set(key, { socket, request: null })
    socket.once('close', () => requests.delete(key))
  })
  server.prependListener('request', (request, response) => {
    const { socket } = request
    const key = keyOf(socket)
    if (!requests.has(key)) return
    requests.set(key, { socket, request })
    response.once('close', () => requests.has(key) && requests.set(key, { socket, request: null }))
  })
  return () => {
    for (const { socket, request } of requests.values())
      if (!socket.destroyed && !request?.complete) return socket.destroy()
  }
}

/** Sets the certificate that new connections get. */
export const reloadAdminTls = (server: Server, { tls }: AdminConfig): void => {
  if (tls === null || !(server instanceof TlsServer)) return
  server.setSecureContext(tlsOptions(tls))
  anchorClients(server, tls)
}

type AdminTls = NonNullable<AdminConfig['tls']>

const anchorClients = (server: Server, tls: AdminTls): void => {
  if (tls.clientCertificate !== null && server instanceof TlsServer) setTrustAnchors(server, tlsOptions(tls))
}

const tlsOptions = ({ certificate, key, clientCertificate }: AdminTls) => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.2' as const,
  // Probes and operators with a token show none. A ticket would carry a verdict on one that was made long ago.
  ...(clientCertificate !== null && {
    ca: clientCertificate.ca,
    requestCert: true,
    rejectUnauthorized: false,
    secureOptions: constants.SSL_OP_NO_TICKET,
    sessionIdContext: 'lender-gateway-admin',
  }),
})
