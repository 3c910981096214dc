import { isIP } from 'node:net'
import type { EndpointConfig, UpstreamConfig } from '../config/config.ts'
import { connector } from './connect.ts'
import { probe } from './probe.ts'
import { reasonOf } from './reason.ts'

/** Is an endpoint as it is configured, behind its upstream. */
export interface Reached {
  readonly endpoint: Pick<EndpointConfig, 'origin'>
  readonly upstream: UpstreamConfig
}

/**
 * Tries an endpoint once: whether it accepts a connection, TLS included, with nothing sent; or whether its health check goes well, where it
 * has one. Rejects with an Error whose message is for operators.
 */
export const reach = ({ endpoint: { origin }, upstream }: Reached, mode: 'connect' | 'health'): Promise<void> => {
  const { healthCheck, host } = upstream
  const connect = connector({ timeoutMs: upstream.connectTimeoutMs, tls: upstream.tls })()
  if (mode === 'health' && healthCheck !== null)
    return probe({ origin, connect, host: typeof host === 'string' ? null : host.name }, healthCheck)
  const { protocol, hostname: bracketed, host: authority, port } = new URL(origin)
  const hostname = bracketed.replace(/^\[|\]$/g, '')
  return new Promise((resolve, reject) => {
    connect(
      { protocol, hostname, host: authority, port, servername: isIP(hostname) === 0 ? hostname : '' },
      (error, socket) => {
        socket?.destroy()
        if (error === null) resolve()
        else reject(new Error(reasonOf(error)))
      },
    )
  })
}
