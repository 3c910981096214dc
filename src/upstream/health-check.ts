import { Alarm, now, repeat, wallClock } from '../clock.ts'
import type { HealthCheckConfig } from '../config/config.ts'
import type { GatewayError } from '../failures/errors.ts'
import { formatDuration } from '../units.ts'
import type { Connector } from './connect.ts'
import { Connection } from './connection.ts'
import type { Probe } from './standing.ts'
import { reasonOf } from './why.ts'
import { requestHead } from './write-request.ts'

/** Hears what the probes of an endpoint say. */
export interface HealthListener {
  probed(probe: Probe): void
  up(): void
  down(reason: string): void
}

const soonMs = 1000

/**
 * Probes an endpoint again and again, one probe at a time: first at a random moment within a second, then every
 * interval (±10 %) after the end of the last. So many in a row change what is known of it; before that it counts as up.
 * Returns what ends it.
 */
export const healthCheck = (
  { interval: intervalMs, healthyAfter, unhealthyAfter }: HealthCheckConfig,
  probe: () => Promise<void>,
  report: HealthListener,
  random: () => number = Math.random,
): (() => void) => {
  let isUp = true
  /** Probes that said otherwise, since the last that did not. */
  let against = 0

  const judge = (reason: string | null): void => {
    const well = reason === null
    against = well === isUp ? 0 : against + 1
    if (against < (well ? healthyAfter : unhealthyAfter)) return
    against = 0
    isUp = well
    if (reason === null) report.up()
    else report.down(reason)
  }
  const ask = async (): Promise<() => number> => {
    const startedAt = now()
    const reason = await probe().then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    return () => {
      report.probed({ at: wallClock(), latencyMs: now() - startedAt, reason })
      judge(reason)
      return intervalMs
    }
  }
  return repeat(ask, Math.max(1, Math.round(random() * Math.min(intervalMs, soonMs))), random)
}

// A short body is read to its end, so that the endpoint does not log a client that broke off.
const maxBodyBytes = 64 * 1024
// They are read as fast as they come, in the thread that serves.
const maxInterim = 100

/**
 * Asks an endpoint once whether it is well, on a connection of its own: one that traffic has kept open would tell
 * nothing of whether it still accepts. The status decides, as soon as it is there; a redirect is an answer as any
 * other. The rest is read for as long as a probe may take, and until the next one, 64 KiB at most, and cut. `host` is
 * the Host to send. Rejects with an Error whose message is for operators.
 */
export const probe = (
  connect: Connector,
  host: string,
  { path, interval: intervalMs, timeout: timeoutMs, expect: { from, to } }: HealthCheckConfig,
): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    let bodyBytes = 0
    let interim = 0
    const fields = ['User-Agent', 'lender-gateway', 'Accept', '*/*']
    const head = requestHead({ method: 'GET', target: path, host, keepAlive: false, fields })
    const end = (): void => {
      alarm.clear()
      connection.destroy(new Error('the probe is over'))
    }
    const fail = (reason: string): void => {
      reject(new Error(reason))
      end()
    }
    const alarm = new Alarm(() => fail(`no answer within ${formatDuration(timeoutMs)}`))
    alarm.set(timeoutMs)
    const handler = {
      isSentOnce: false,
      onConnection(made: Connection): boolean {
        made.send(handler, head, [], 0)
        return true
      },
      onInterim: (): void => {
        if (++interim > maxInterim) fail('interim answers without end')
      },
      onHead(status: number): void {
        // Or those who never end their answers gather connections, one for each probe.
        alarm.set(Math.min(timeoutMs, intervalMs))
        if (status >= from && status <= to) resolve()
        else reject(new Error(`answered ${status}, ${from === to ? from : `${from}-${to}`} is expected`))
      },
      onBody(chunk: Buffer): void {
        bodyBytes += chunk.length
        if (bodyBytes >= maxBodyBytes) end()
      },
      onEnd: (): void => alarm.clear(),
      onError: (error: GatewayError): void => fail(reasonOf(error)),
    }
    const connection = new Connection(connect, 0, { released: () => {}, closed: () => alarm.clear() }, handler)
  })
