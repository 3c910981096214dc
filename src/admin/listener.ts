import { constants } from 'node:crypto'
import type { RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
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
  server.on('drop', () => server.closeIdleConnections()) // makes room for the next connection, a probe's among them
  return server
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
