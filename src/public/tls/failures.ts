import { now } from '../../clock.ts'
import type { Log } from '../../observe/log.ts'

const everyMs = 1000

/** Tells of a handshake that failed: which client's, and why. */
export type TellFailure = (client: string, reason: string) => void

/**
 * Logs them at a bounded rate, since anybody can cause as many as he likes: one line a second, which counts those that it stands for.
 * Who connects and leaves again, as a probe of a load balancer does, is of interest to nobody.
 */
export const failureLog = (log: Log): TellFailure => {
  let next = 0
  let unlogged = 0
  return (client, reason) => {
    if (reason === 'ECONNRESET') return log.debug({ client, reason }, 'handshake failed')
    const at = now()
    if (at < next) return void unlogged++
    next = at + everyMs
    log.warn({ client, reason, unlogged }, 'handshake failed')
    unlogged = 0
  }
}
