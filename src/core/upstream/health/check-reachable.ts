import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { UpstreamConfig } from '../../config/config.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { now, settlesWithin, settlesWithinWait } from '../../lib/clock.ts'
import { NoAnswerError } from '../../lib/try.ts'
import { describeUpstreamError, tlsFailedError } from '../classify-error.ts'
import { createConnector } from '../http1/connector.ts'
import { probeEndpoint } from './health-check.ts'

/** The limit of one check, in ms, however long its upstream may take otherwise: an operator waits for it. */
export const maxCheckMs = 2000

/**
 * Checks an endpoint once, for at most 2 s. `connect`: whether it accepts a connection, TLS included, with nothing
 * sent. `health`: whether its health check succeeds, where it has one. `connect` does not see an endpoint that asks for
 * a client certificate and says only in its responses that it wants another. Rejects with an Error whose message is for
 * operators.
 */
export const checkReachable = async (
  origin: string,
  upstream: UpstreamConfig,
  mode: 'connect' | 'health',
): Promise<void> => {
  const { healthCheck, host, tls } = upstream
  const timeoutMs = Math.min(upstream.timeouts.connect ?? maxCheckMs, maxCheckMs)
  if (mode === 'health' && healthCheck !== null) {
    const connect = createConnector(origin, { timeoutMs, tls })()
    const check = { ...healthCheck, timeout: Math.min(healthCheck.timeout, maxCheckMs) }
    await probeEndpoint(connect, typeof host === 'string' ? new URL(origin).host : host.name, check)
    return
  }
  const startedAt = now()
  // Its own timer would go on while this process stands still, and the endpoint would be blamed.
  const connect = createConnector(origin, { timeoutMs: null, tls })()
  const { promise, resolve, reject } = Promise.withResolvers<Socket | null>()
  const connecting = connect((error, connected) =>
    error === null ? resolve(connected) : reject(new Error(describeUpstreamError(error))),
  )
  try {
    if (!(await settlesWithinWait(timeoutMs, promise))) throw new NoAnswerError(timeoutMs)
    const halfOfTheRest = Math.max(0, timeoutMs - (now() - startedAt)) / 2
    await untilAccepted(await promise, halfOfTheRest)
  } finally {
    connecting.destroy()
  }
}

/**
 * Waits until an endpoint that asks for a client certificate has judged what it got, which may be none. In TLS 1.3 the
 * handshake of the client ends before that (RFC 8446 §2): an alert comes behind it, or else the tickets of the session
 * (§4.6.1). Where neither comes within `waitMs`, the endpoint is silent, and taken for content. Rejects with an Error.
 */
const untilAccepted = async (socket: Socket | null, waitMs: number): Promise<void> => {
  if (!(socket instanceof TLSSocket) || !asksForCertificate(socket)) return
  const judged = new Promise<void>((resolve, reject) => {
    const fail = (error: GatewayError): void => reject(new Error(describeUpstreamError(error)))
    socket
      .on('error', (error) => fail(tlsFailedError(error)))
      .once('close', () => fail(new GatewayError('tls-failed', { reason: 'tls-handshake' })))
      .once('session', () => resolve())
      .resume()
  })
  await settlesWithin(waitMs, judged)
}

// OpenSSL gives a client algorithms of the server only when it has got a CertificateRequest, which is what names them.
const asksForCertificate = (socket: TLSSocket): boolean =>
  socket.getProtocol() === 'TLSv1.3' && socket.getSharedSigalgs().length > 0
