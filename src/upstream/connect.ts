import type { Socket } from 'node:net'
import { buildConnector } from 'undici'
import { Alarm } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { hearOut } from './hear-out.ts'

/**
 * Makes connections to one origin, bounded by the gateway's own timer: undici's tick only every half second. Fails with
 * `connect-failed`, `connect-timeout` or `tls-failed`; in each case nothing of a request was sent.
 *
 * The certificate is verified against the endpoint's own name. undici would take the name from the Host that is sent, which with
 * `host: client` is the client's to choose.
 */
export const connector = (timeoutMs: number | null): buildConnector.connector => {
  const connect = buildConnector({ timeout: 0, allowH2: false, rejectUnauthorized: true })

  return (options, callback) => {
    let timedOut: GatewayError | null = null
    let reached = false
    const alarm = new Alarm(() => {
      timedOut = new GatewayError('connect-timeout')
      socket.destroy(timedOut)
    })
    // undici's connector returns its socket, though its type does not say so; an empty name makes it ask for the endpoint's.
    const socket = connect({ ...options, servername: '' }, (error, connected) => {
      alarm.clear()
      if (error === null) return callback(null, connected)
      const kind = options.protocol === 'https:' && reached ? 'tls-failed' : 'connect-failed'
      callback(timedOut ?? new GatewayError(kind, { cause: error }), null)
    }) as unknown as Socket
    hearOut(socket)
    socket.once('connect', () => {
      reached = true
    })
    // undici takes this code for the end of a body that ends with its connection, and a part for the whole.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') error.code = 'UPSTREAM_RESET'
    })
    alarm.set(timeoutMs)
  }
}
