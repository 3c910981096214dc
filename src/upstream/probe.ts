import { type buildConnector, Client, type Dispatcher } from 'undici'
import { Alarm } from '../clock.ts'
import type { HealthCheckConfig } from '../config/config.ts'
import { formatDuration } from '../units.ts'
import { reasonOf } from './reason.ts'

/** Is where a probe goes. */
export interface Probed {
  readonly origin: string
  readonly connect: buildConnector.connector
  /** The Host to send; null: the endpoint's own. */
  readonly host: string | null
}

/**
 * Asks an endpoint once whether it is well, on a connection of its own: one that traffic has kept open would tell nothing of whether it
 * still accepts. The status decides; the body is not read. Rejects with an Error whose message is for operators.
 */
export const probe = (
  { origin, connect, host }: Probed,
  { path, timeoutMs, expect }: HealthCheckConfig,
): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    const client = new Client(origin, { connect, pipelining: 0, headersTimeout: 0, bodyTimeout: 0, allowH2: false })
    const end = (failure: Error | null): void => {
      alarm.clear()
      void client.destroy()
      if (failure === null) resolve()
      else reject(failure)
    }
    const alarm = new Alarm(() => end(new Error(`no answer within ${formatDuration(timeoutMs)}`)))
    alarm.set(timeoutMs)
    const handler: Dispatcher.DispatchHandler = {
      onResponseStart: (_, status) => {
        if (status < 200) return
        const { from, to } = expect
        const well = status >= from && status <= to
        end(well ? null : new Error(`answered ${status}, ${from === to ? from : `${from}-${to}`} is expected`))
      },
      onResponseError: (_, error) => end(new Error(reasonOf(error))),
    }
    const headers = ['user-agent', 'lender-gateway', 'accept', '*/*', ...(host === null ? [] : ['host', host])]
    client.dispatch(
      { method: 'GET', path, headers, servername: new URL(origin).hostname } as Dispatcher.DispatchOptions,
      handler,
    )
  })
