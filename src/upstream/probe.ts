import type { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'
import { Alarm } from '../clock.ts'
import type { HealthCheckConfig } from '../config/config.ts'
import { formatDuration } from '../units.ts'
import type { Connector } from './connect.ts'
import { reasonOf } from './reason.ts'

/** Is where a probe goes. */
export interface Probed {
  readonly origin: string
  readonly connect: Connector
  /** The Host to send; null: the endpoint's own. */
  readonly host: string | null
}

// A short body is read to its end, so that the endpoint does not log a client that broke off.
const maxBodyBytes = 64 * 1024
// They are read as fast as they come, in the thread that serves.
const maxInterim = 100

/**
 * Asks an endpoint once whether it is well, on a connection of its own: one that traffic has kept open would tell nothing of whether it
 * still accepts. The status decides, as soon as it is there; a redirect is an answer as any other. The rest is read for as long as a
 * probe may take, and until the next one, 64 KiB at most, and cut. Rejects with an Error whose message is for operators.
 */
export const probe = (
  { origin, connect, host }: Probed,
  { path, intervalMs, timeoutMs, expect: { from, to } }: HealthCheckConfig,
): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    let socket: Socket | null = null
    let bodyBytes = 0
    let interim = 0
    const client = new Client(origin, {
      connect: (...asked) => {
        socket = connect(...asked)
      },
      pipelining: 0, // Connection: close
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    })
    const end = (): void => {
      alarm.clear()
      void client.destroy()
      socket?.destroy() // undici would wait for a connection that is still being made
    }
    const fail = (reason: string): void => {
      reject(new Error(reason))
      end()
    }
    const alarm = new Alarm(() => fail(`no answer within ${formatDuration(timeoutMs)}`))
    alarm.set(timeoutMs)
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => {}, // undici demands one
      onResponseStart: (_, status) => {
        if (status < 200) return ++interim > maxInterim ? fail('interim answers without end') : undefined
        // Or those who never end their answers gather connections, one for each probe.
        alarm.set(Math.min(timeoutMs, intervalMs))
        if (status >= from && status <= to) resolve()
        else reject(new Error(`answered ${status}, ${from === to ? from : `${from}-${to}`} is expected`))
      },
      onResponseData: (_, chunk) => {
        bodyBytes += chunk.length
        if (bodyBytes >= maxBodyBytes) end()
      },
      onResponseEnd: end,
      onResponseError: (_, error) => fail(reasonOf(error)),
    }
    const headers = ['user-agent', 'lender-gateway', 'accept', '*/*', ...(host === null ? [] : ['host', host])]
    client.dispatch(
      { method: 'GET', path, headers, servername: new URL(origin).hostname } as Dispatcher.DispatchOptions,
      handler,
    )
  })
