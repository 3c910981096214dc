import { constants } from 'node:crypto'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { AdminConfig } from '../config/config.ts'
import { createServer } from '../exchange/node-http.ts'
import { setTrustAnchors } from '../lib/net/tls.ts'

// Otherwise a flood of this listener takes the file descriptors of the public listener's clients.
const maxConnections = 256
const requestTimeoutMs = 10_000
// Longer than a reload that waits for an earlier reload.
const idleMs = 60_000

/** For `localhost`, Fastify's own server would open a second one, which keeps its first certificate. */
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
  // Makes room for the next connection, e.g. of a probe.
  server.on('drop', () => {
    server.closeIdleConnections()
    closeOldestWaiting()
  })
  return server
}

/**
 * Returns a function that closes the oldest connection that waits for (the rest of) a request; Node does not count
 * these as idle.
 * Otherwise some hundred such connections (slowloris) keep probes out, and a serving gateway is taken for dead.
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
  // Optional: probes and operators with a token have none. A session ticket would carry the check of an old
  // certificate.
  ...(clientCertificate !== null && {
    ca: clientCertificate.ca,
    requestCert: true,
    rejectUnauthorized: false,
    secureOptions: constants.SSL_OP_NO_TICKET,
    sessionIdContext: 'lender-gateway-admin',
  }),
})
