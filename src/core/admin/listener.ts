import { constants } from 'node:crypto'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { AdminConfig } from '../config/config.ts'
import { createServer } from '../exchange/node-http.ts'
import { setTrustAnchors } from '../lib/net/tls.ts'

// So that a flood of this listener leaves file descriptors for clients of the public listener.
const maxConnections = 256
const requestTimeoutMs = 10_000
// Longer than a reload that waits for another reload.
const idleMs = 60_000

/** Replaces Fastify's own server, which for `localhost` opens a second one that keeps its first certificate. */
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
  server.on('drop', () => {
    server.closeIdleConnections()
    closeOldestWaiting()
  })
  return server
}

/**
 * Returns a function that closes the oldest connection that waits for a request or the rest of it. Node does not count
 * these as idle, and 256 of them (slowloris) would keep probes out, so a serving gateway would count as dead.
 */
const trackConnections = (server: Server): (() => void) => {
  const requests = new Map<string, { readonly socket: Socket; readonly request: IncomingMessage | null }>()
  // With TLS a request's socket is not its connection's, but the peer is the same.
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
  // Optional: probes and operators with a token show none. No session tickets: they carry the check of an old
  // certificate.
  ...(clientCertificate !== null && {
    ca: clientCertificate.ca,
    requestCert: true,
    rejectUnauthorized: false,
    secureOptions: constants.SSL_OP_NO_TICKET,
    sessionIdContext: 'lender-gateway-admin',
  }),
})
