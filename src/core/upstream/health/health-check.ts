import type { HealthCheckConfig } from '../../config/config.ts'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { CoalescedTimer, epochMs, now, repeatWithJitter } from '../../lib/clock.ts'
import { errorMessage, NoResponseError } from '../../lib/try.ts'
import { describeUpstreamError } from '../classify-error.ts'
import { UpstreamConnection } from '../http1/connection.ts'
import type { Connector } from '../http1/connector.ts'
import { renderRequestHead } from '../http1/write-request.ts'
import type { ProbeResult } from './endpoint-health.ts'

export interface HealthCheckCallbacks {
  onProbe(probe: ProbeResult): void
  onUp(): void
  onDown(reason: string): void
}

const maxFirstDelayMs = 1000

/** The first probe comes within a random second, the next ones every interval ±10 %. Returns the end of the probes. */
export const startHealthCheck = (
  { interval: intervalMs, healthyAfter, unhealthyAfter }: HealthCheckConfig,
  probe: () => Promise<number>,
  callbacks: HealthCheckCallbacks,
  random: () => number = Math.random,
  isUp = true,
): (() => void) => {
  let contradictions = 0

  const applyResult = (reason: string | null): void => {
    const isHealthy = reason === null
    contradictions = isHealthy === isUp ? 0 : contradictions + 1
    if (contradictions < (isHealthy ? healthyAfter : unhealthyAfter)) return
    contradictions = 0
    isUp = isHealthy
    if (reason === null) callbacks.onUp()
    else callbacks.onDown(reason)
  }
  const runProbe = async (): Promise<() => number> => {
    const startedAt = now()
    const { status, reason } = await probe().then(
      (status) => ({ status, reason: null }),
      (error: unknown) => ({ status: null, reason: errorMessage(error) }),
    )
    return () => {
      callbacks.onProbe({ at: epochMs(), latencyMs: now() - startedAt, status, reason })
      applyResult(reason)
      return intervalMs
    }
  }
  return repeatWithJitter(runProbe, Math.max(1, Math.round(random() * Math.min(intervalMs, maxFirstDelayMs))), random)
}

// The endpoint would log a client that broke off.
const maxBodyBytes = 64 * 1024
const maxInterim = 100

/**
 * Uses its own connection: one kept open by traffic does not show whether the endpoint accepts connections. Redirects
 * are not followed. Rejects with an Error for operators.
 */
export const probeEndpoint = (
  connect: Connector,
  host: string,
  { path, interval: intervalMs, timeout: timeoutMs, expect: { from, to } }: HealthCheckConfig,
): Promise<number> =>
  new Promise<number>((resolve, reject) => {
    let bodyBytes = 0
    let interim = 0
    const fields = ['User-Agent', 'lender-gateway', 'Accept', '*/*']
    const head = renderRequestHead({ method: 'GET', target: path, host, keepAlive: false, fields })
    const end = (): void => {
      timer.clear()
      connection.destroy(new Error('the probe is over'))
    }
    const failWith = (error: Error): void => {
      reject(error)
      end()
    }
    const fail = (reason: string): void => failWith(new Error(reason))
    const timer = new CoalescedTimer(() => failWith(new NoResponseError(timeoutMs)))
    timer.set(timeoutMs)
    const handler = {
      isSentOnce: false,
      isLast: true,
      onConnection(connection: UpstreamConnection): boolean {
        connection.send(handler, head, [], 0)
        return true
      },
      onInterim: (): void => {
        if (++interim > maxInterim) fail('interim responses without end')
      },
      onHead(status: number): void {
        // Endpoints that never end their responses would otherwise hold one connection for each probe.
        timer.set(Math.min(timeoutMs, intervalMs))
        if (status >= from && status <= to) resolve(status)
        else reject(new Error(`responded with ${status}, ${from === to ? from : `${from}-${to}`} is expected`))
      },
      onBody(chunk: Buffer): void {
        bodyBytes += chunk.length
        if (bodyBytes >= maxBodyBytes) end()
      },
      onEnd: (): void => timer.clear(),
      onError: (error: GatewayError): void => fail(describeUpstreamError(error)),
    }
    const owner = { onReleased: () => {}, onClosed: () => timer.clear() }
    const connection = new UpstreamConnection(connect, 0, () => owner, handler)
  })
