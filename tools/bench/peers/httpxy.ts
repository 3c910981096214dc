import { join } from 'node:path'
import { startServer } from '../process.ts'
import { type Peer, probePath } from './peer.ts'

/**
 * Runs httpxy, the engine of http-proxy-middleware 4 and of Nitro's development server: what http-proxy became, without
 * dependencies. One more Node proxy that is well kept and much used.
 */
export const httpxy: Peer = {
  name: 'httpxy',
  description: "httpxy under node:http, keep-alive agent, pino's destination buffered",
  onRequest: false,
  start: ({ upstreamPort, directory }) =>
    startServer(directory, probePath, async (port) => ({
      path: process.execPath,
      args: [join(import.meta.dirname, 'httpxy-server.ts'), String(port), String(upstreamPort)],
    })),
}
