import { createServer, type Server, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Pair } from './certificates.ts'

/**
 * Opens an HTTPS server that counts what it is asked, and responds with the name that was indicated and the Host that
 * was sent.
 */
export const httpsUpstream = async (pair: Pair, options: ServerOptions = {}) => {
  const upstream = await openHttpsUpstream(pair, options)
  onTestFinished(() => upstream.close())
  return upstream
}

/** Opens one that the caller closes, for use in `beforeAll`. */
export const openHttpsUpstream = async ({ key, cert }: Pair, options: ServerOptions = {}) => {
  let requests = 0
  const server: Server = createServer({ key, cert, ...options }, (request, response) => {
    requests++
    const { servername } = request.socket as unknown as { readonly servername: unknown }
    response.end(JSON.stringify({ servername, host: request.headers.host }))
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  /** Shows another certificate from now on, as after a renewal. */
  const renew = ({ key, cert }: Pair): void => server.setSecureContext({ key, cert })
  return { port: (server.address() as AddressInfo).port, requests: () => requests, renew, close }
}
