import { now, wallClock } from '../clock.ts'
import type { GatewayError } from '../errors.ts'
import { logAccess } from '../observe/access-log.ts'
import { exchangeLine } from '../observe/audit/line.ts'
import type { Log } from '../observe/log.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Visit } from './visit.ts'

/** Accounts for every request on the public listener, once its body has ended. */
export interface Accounts {
  /** Accounts for a visit whose response has closed. */
  closed(visit: Visit): void
  /** Accounts for what never became a visit: no request could be parsed, or CONNECT. `sentBytes` are those of the answer's body. */
  stray(requestId: string, client: string, failure: GatewayError, sentBytes: number): void
}

/** Keeps the access log and the audit log; `current` is the snapshot of those that belong to none. */
export const accounts = (log: Log, current: () => Snapshot): Accounts => ({
  closed(visit) {
    const { config, auditor } = visit.snapshot
    if (config.audit !== null) auditor.record(lineOf(visit))
    if (!config.log.access) return
    const { exchange, startedAt } = visit
    const endedAt = now()
    const attempt = exchange?.attempt ?? null
    logAccess(log, {
      requestId: visit.requestId,
      client: visit.client,
      identity: exchange?.identity ?? null,
      operation: exchange?.operation.id ?? null,
      status: statusOf(visit),
      endpoint: attempt?.endpoint ?? null,
      attempts: exchange?.attempts ?? 0,
      totalMs: endedAt - startedAt,
      upstreamMs: attempt === null ? null : (attempt.endedAt ?? endedAt) - attempt.startedAt,
      bytesIn: visit.body?.receivedBytes ?? 0,
      bytesOut: visit.sentBytes,
      configHash: config.hash,
      failure: visit.failure,
      cache: exchange?.cache ?? null,
    })
  },

  stray(requestId, client, failure, sentBytes) {
    const { config, auditor } = current()
    const { hash: configHash } = config
    const { status } = failure
    const nothing = { operation: null, endpoint: null }
    if (config.audit !== null) {
      const known = { requestId, address: client, status, failure, configHash, ...nothing }
      auditor.record(exchangeLine(wallClock(), { ...known, identity: null, digests: null }))
    }
    if (!config.log.access) return
    const times = {
      identity: null,
      attempts: 0,
      totalMs: 0,
      upstreamMs: null,
      bytesIn: 0,
      bytesOut: sentBytes,
      cache: null,
    }
    logAccess(log, { requestId, client, status, failure, configHash, ...nothing, ...times })
  },
})

const statusOf = ({ failure, response }: Visit): number =>
  failure?.kind === 'client-gone' || !response.headersSent ? (failure?.status ?? 499) : response.statusCode

const lineOf = (visit: Visit): string => {
  const { requestId, client: address, exchange, failure, snapshot } = visit
  return exchangeLine(wallClock(), {
    requestId,
    address,
    identity: exchange?.identity ?? null,
    operation: exchange?.operation.id ?? null,
    status: statusOf(visit),
    failure,
    endpoint: exchange?.attempt?.endpoint ?? null,
    configHash: snapshot.config.hash,
    digests: exchange?.digests ?? null,
  })
}
