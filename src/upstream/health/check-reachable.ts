import type { UpstreamConfig } from '../../config/config.ts'
import { formatDuration } from '../../units.ts'
import { describeUpstreamError } from '../classify-error.ts'
import { createConnector } from '../http1/connector.ts'
import { probeEndpoint } from './health-check.ts'

/** The limit of one check, in ms, however long its upstream may take otherwise: an operator waits for it. */
export const maxCheckMs = 2000

/**
 * Checks an endpoint once, for at most 2 s. `connect`: whether it accepts a connection, TLS included, with nothing
 * sent. `health`: whether its health check succeeds, where it has one. `connect` does not see a client certificate that
 * the endpoint rejects after the handshake (TLS 1.3). Rejects with an Error whose message is for operators.
 */
export const checkReachable = async (
  origin: string,
  upstream: UpstreamConfig,
  mode: 'connect' | 'health',
): Promise<void> => {
  const { healthCheck, host, tls } = upstream
  const timeoutMs = Math.min(upstream.timeouts.connect ?? maxCheckMs, maxCheckMs)
  const connect = createConnector(origin, { timeoutMs, tls })()
  if (mode === 'health' && healthCheck !== null) {
    const check = { ...healthCheck, timeout: Math.min(healthCheck.timeout, maxCheckMs) }
    await probeEndpoint(connect, typeof host === 'string' ? new URL(origin).host : host.name, check)
    return
  }
  return new Promise((resolve, reject) => {
    connect((error, socket) => {
      socket?.destroy()
      if (error === null) return resolve()
      reject(
        new Error(
          error.kind === 'connect-timeout'
            ? `no answer within ${formatDuration(timeoutMs)}`
            : describeUpstreamError(error),
        ),
      )
    })
  })
}
