import { now } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { GatewayError } from '../errors.ts'
import { logAccess } from '../observe/access-log.ts'
import type { Log } from '../observe/log.ts'
import type { Visit } from './visit.ts'

/** Accounts for every request on the public listener, once its body has ended. */
export interface Accounts {
  /** Accounts for a visit whose response has closed. */
  closed(visit: Visit): void
  /** Accounts for what never became a visit: no request could be parsed, or CONNECT. `sentBytes` are those of the answer's body. */
  stray(requestId: string, client: string, failure: GatewayError, sentBytes: number): void
}

/** Keeps the access log; `current` is the configuration of those that belong to no snapshot. */
export const accounts = (log: Log, current: () => Config): Accounts => ({
  closed(visit) {
    const { config } = visit.snapshot
    if (!config.log.access) return
    const { response, failure, exchange, startedAt } = visit
    const endedAt = now()
    const attempt = exchange?.attempt ?? null
    logAccess(log, {
      requestId: visit.requestId,
      client: visit.client,
      identity: exchange?.identity ?? null,
      operation: exchange?.operation.id ?? null,
      status: failure?.kind === 'client-gone' || !response.headersSent ? (failure?.status ?? 499) : response.statusCode,
      endpoint: attempt?.endpoint ?? null,
      attempts: exchange?.attempts ?? 0,
      totalMs: endedAt - startedAt,
      upstreamMs: attempt === null ? null : (attempt.endedAt ?? endedAt) - attempt.startedAt,
      bytesIn: visit.body?.receivedBytes ?? 0,
      bytesOut: visit.sentBytes,
      configHash: config.hash,
      failure,
    })
  },

  stray(requestId, client, failure, sentBytes) {
    const config = current()
    if (!config.log.access) return
    logAccess(log, {
      requestId,
      client,
      identity: null,
      operation: null,
      status: failure.status,
      endpoint: null,
      attempts: 0,
      totalMs: 0,
      upstreamMs: null,
      bytesIn: 0,
      bytesOut: sentBytes,
      configHash: config.hash,
      failure,
    })
  },
})
