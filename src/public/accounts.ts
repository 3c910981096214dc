import { now } from '../clock.ts'
import type { GatewayError } from '../errors.ts'
import type { Exchanged } from '../observe/exchanged.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Visit } from './visit.ts'

/** Accounts for every request on the public listener, once its body has ended. */
export interface Accounts {
  /** Accounts for a visit whose response has closed. */
  closed(visit: Visit): void
  /** Accounts for what never became a visit: no request could be parsed, or CONNECT. `sentBytes` are those of the answer's body. */
  stray(requestId: string, client: string, failure: GatewayError, sentBytes: number): void
}

/** Tells the recorders of a visit's snapshot; `current` is that of those that belong to none. */
export const accounts = (current: () => Pick<Snapshot, 'config' | 'recorders'>): Accounts => ({
  closed(visit) {
    const { recorders } = visit.snapshot
    const exchanged = exchangedOf(visit)
    for (const recorder of recorders) recorder.record(exchanged)
  },

  stray(requestId, client, failure, sentBytes) {
    const { config, recorders } = current()
    const exchanged: Exchanged = {
      ...nothingKnown,
      requestId,
      client,
      status: failure.status,
      failure,
      bytesOut: sentBytes,
      configHash: config.hash,
    }
    for (const recorder of recorders) recorder.record(exchanged)
  },
})

const exchangedOf = (visit: Visit): Exchanged => {
  const { exchange, startedAt, headAt, failure, request } = visit
  const endedAt = now()
  const attempt = exchange?.attempt ?? null
  return {
    requestId: visit.requestId,
    client: visit.client,
    identity: exchange?.identity ?? null,
    authMethod: exchange?.proving ?? null,
    method: request.method ?? null,
    path: exchange === null ? pathOf(request.originalUrl ?? request.url) : null,
    operation: exchange?.operation.id ?? null,
    status: statusOf(visit),
    endpoint: attempt?.endpoint ?? null,
    attempts: exchange?.attempts ?? 0,
    failedAttempts: exchange?.failedAttempts ?? none,
    totalMs: endedAt - startedAt,
    firstByteMs: headAt === null ? null : headAt - startedAt,
    upstreamMs: attempt === null ? null : (attempt.endedAt ?? endedAt) - attempt.startedAt,
    bytesIn: visit.body?.receivedBytes ?? 0,
    bytesOut: visit.sentBytes,
    configHash: visit.snapshot.config.hash,
    trace: exchange?.trace ?? null,
    failure,
    cache: exchange?.cache ?? null,
    digests: exchange?.digests ?? null,
  }
}

const none: Exchanged['failedAttempts'] = []

const nothingKnown = {
  identity: null,
  authMethod: null,
  method: null,
  path: null,
  operation: null,
  endpoint: null,
  attempts: 0,
  failedAttempts: none,
  totalMs: 0,
  firstByteMs: null,
  upstreamMs: null,
  bytesIn: 0,
  cache: null,
  digests: null,
  trace: null,
} as const

const statusOf = ({ failure, response }: Visit): number =>
  failure?.kind === 'client-gone' || !response.headersSent ? (failure?.status ?? 499) : response.statusCode

// Enough to see how it differs from one of the nine.
const maxPath = 200

const pathOf = (target: string | undefined): string | null => target?.slice(0, maxPath).split('?', 1)[0] ?? null
