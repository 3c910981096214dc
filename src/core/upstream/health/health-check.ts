import type { HealthCheckConfig } from '../../config/config.ts'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { CoalescedTimer, epochMs, now, repeatWithJitter } from '../../lib/clock.ts'
import { errorMessage, NoAnswerError } from '../../lib/try.ts'
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

/**
 * Probes an endpoint repeatedly, one probe at a time: first at a random moment within a second, then every interval
 * (±10 %) after the end of the last. So many equal results in a row change its state, which `isUp` is until then.
 * Returns a function that ends the probes.
 */
export const startHealthCheck = (
  { interval: intervalMs, healthyAfter, unhealthyAfter }: HealthCheckConfig,
  probe: () => Promise<number>,
  callbacks: HealthCheckCallbacks,
  random: () => number = Math.random,
  isUp = true,
): (() => void) => {
  /** Results that contradict the state, since the last that did not. */
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

// A short body is read to its end, so that the endpoint does not log a client that broke off.
const maxBodyBytes = 64 * 1024
// They are read as fast as they come, in the thread that serves.
const maxInterim = 100

/**
 * Probes an endpoint once, on a connection of its own: one that traffic has kept open would not show whether it still
 * accepts connections. The status decides, as soon as it is there; a redirect is a status as any other. The rest is
 * read for as long as a probe may take, and until the next one, 64 KiB at most, and cut. `host` is the Host to send.
 * Resolves with the status; rejects with an Error whose message is for operators.
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
    const timer = new CoalescedTimer(() => failWith(new NoAnswerError(timeoutMs)))
    timer.set(timeoutMs)
    const handler = {
      isSentOnce: false,
      isLast: true,
      onConnection(connection: UpstreamConnection): boolean {
        connection.send(handler, head, [], 0)
        return true
      },
      onInterim: (): void => {
        if (++interim > maxInterim) fail('interim answers without end')
      },
      onHead(status: number): void {
        // Endpoints that never end their responses would gather connections, one for each probe.
        timer.set(Math.min(timeoutMs, intervalMs))
        if (status >= from && status <= to) resolve(status)
        else reject(new Error(`answered ${status}, ${from === to ? from : `${from}-${to}`} is expected`))
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
