import type { EndpointConfig, UpstreamConfig } from '../config/config.ts'
import { formatDuration } from '../units.ts'
import { connector } from './connect.ts'
import { probe } from './probe.ts'
import { reasonOf } from './why.ts'

/** Is an endpoint as it is configured, behind its upstream. */
export interface Reached {
  readonly endpoint: Pick<EndpointConfig, 'origin'>
  readonly upstream: UpstreamConfig
}

/** Bounds a try, in milliseconds, however long its upstream may take otherwise: an operator waits for it. */
export const maxReachMs = 2000

/**
 * Tries an endpoint once, for at most 2 s: whether it accepts a connection, TLS included, with nothing sent; or whether its health check
 * goes well, where it has one. A client certificate that it refuses after the handshake (TLS 1.3) is not seen by the former. Rejects with
 * an Error whose message is for operators.
 */
export const reach = ({ endpoint: { origin }, upstream }: Reached, mode: 'connect' | 'health'): Promise<void> => {
  const { healthCheck, host, tls } = upstream
  const timeoutMs = Math.min(upstream.connectTimeoutMs ?? maxReachMs, maxReachMs)
  const connect = connector(origin, { timeoutMs, tls })()
  if (mode === 'health' && healthCheck !== null) {
    const bounded = { ...healthCheck, timeoutMs: Math.min(healthCheck.timeoutMs, maxReachMs) }
    return probe({ connect, host: typeof host === 'string' ? new URL(origin).host : host.name }, bounded)
  }
  return new Promise((resolve, reject) => {
    connect((error, socket) => {
      socket?.destroy()
      if (error === null) return resolve()
      reject(
        new Error(error.kind === 'connect-timeout' ? `no answer within ${formatDuration(timeoutMs)}` : reasonOf(error)),
      )
    })
  })
}
