import { constants } from 'node:crypto'
import type { RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { AdminConfig } from '../config/config.ts'
import { createServer } from '../node-http.ts'

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
  server.setTimeout(idleMs)
  server.maxConnections = maxConnections
  const closeOldestSilent = trackSilentConnections(server)
  // Makes room for the next connection, a probe's among them.
  server.on('drop', () => {
    server.closeIdleConnections()
    closeOldestSilent()
  })
  return server
}

/**
 * Tracks connections on which no request has come yet: to Node they are not idle. Returns what closes the one that is
 * open for longest. Else so many of them would keep probes out for as long as a head may take, and a gateway that
 * serves would be taken for dead.
 */
const trackSilentConnections = (server: Server): (() => void) => {
  const silent = new Map<string, Socket>()
  // With TLS a request has another socket than its connection, with the same peer.
  const keyOf = ({ remoteAddress, remotePort, localAddress }: Socket) =>
    `${remoteAddress} ${remotePort} ${localAddress}`
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    silent.set(key, socket)
    socket.once('close', () => silent.get(key) === socket && silent.delete(key))
  })
  server.prependListener('request', ({ socket }) => silent.delete(keyOf(socket)))
  return () => {
    const [[key, oldest] = []] = silent
    if (key === undefined) return
    silent.delete(key)
    oldest?.destroy()
  }
}

/** Sets the certificate that new connections get. */
export const reloadAdminTls = (server: Server, { tls }: AdminConfig): void => {
  if (tls !== null && 'setSecureContext' in server && typeof server.setSecureContext === 'function')
    server.setSecureContext(tlsOptions(tls))
}

const tlsOptions = ({ certificate, key, clientCertificate }: NonNullable<AdminConfig['tls']>) => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.2' as const,
  // Probes and operators with a token show none. A ticket would carry a verdict on one that was made long ago.
  ...(clientCertificate !== null && {
    ca: clientCertificate.ca,
    requestCert: true,
    rejectUnauthorized: false,
    secureOptions: constants.SSL_OP_NO_TICKET,
  }),
})
