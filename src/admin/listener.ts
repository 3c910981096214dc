import type { RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AdminConfig } from '../config/config.ts'
import { createServer } from '../node-http.ts'

// Operators and probes are few. What floods this listener would otherwise take the descriptors that clients of the public one need.
const maxConnections = 256
const withinMs = 10_000
// Longer than a reload may take, behind one that is under way.
const idleMs = 60_000

/**
 * Makes the server of the operator's listener. Not Fastify's own: for `localhost` that opens a second one, which keeps the certificate
 * it began with.
 */
export const listener = ({ tls }: AdminConfig, enter: RequestListener): Server => {
  const options = {
    requireHostHeader: false, // HAProxy's health checks send none
    headersTimeout: withinMs,
    requestTimeout: withinMs,
    keepAliveTimeout: withinMs,
    connectionsCheckingInterval: 1000,
  }
  const server: Server =
    tls === null
      ? createServer(options, enter)
      : createTlsServer({ ...options, ...secrets(tls), handshakeTimeout: withinMs }, enter)
  server.setTimeout(idleMs)
  server.maxConnections = maxConnections
  server.on('drop', () => server.closeIdleConnections()) // whoever comes next finds room, a probe among them
  return server
}

/** Has a listener present a renewed certificate to whoever connects from now on. */
export const renew = (server: Server, { tls }: AdminConfig): void => {
  if (tls !== null && 'setSecureContext' in server && typeof server.setSecureContext === 'function')
    server.setSecureContext(secrets(tls))
}

const secrets = ({ certificate, key }: NonNullable<AdminConfig['tls']>) => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.2' as const,
})
