import type { Attempts, RecordedOutcome } from '../../../src/core/exchange/exchange.ts'
import type { ExchangeFacts, ExchangeRecord } from '../../../src/core/log/exchange-record.ts'
import { allOperations, type OperationId } from '../../../src/operations.ts'
import { attemptRecord, fakeOutcome } from '../../helpers/exchange.ts'

/** What a test sets of an exchange. */
interface RecordOverrides
  extends Partial<Omit<ExchangeRecord, 'exchange'> & Omit<ExchangeFacts, 'operation' | 'attempts' | 'outcome'>> {
  readonly attempts?: number
  readonly cache?: string
  readonly idempotency?: Pick<RecordedOutcome, 'outcome' | 'firstRequestId'>
  readonly failedAttempts?: Attempts['failed']
  readonly fellBack?: boolean
  readonly upstreamMs?: number | null
  readonly operation?: OperationId | null
  readonly endpoint?: string | null
}

/** Creates the record of an exchange that succeeded, but for the overrides. */
export const exchangeRecord = (overrides: RecordOverrides = {}): ExchangeRecord => {
  const { operation: id = 'market.insights', endpoint = 'http://market:8080', ...more } = overrides
  const operation = allOperations.find((each) => each.id === id)
  const last = endpoint === null ? null : attemptRecord({ endpoint, side: more.side ?? null, endedAt: 9 })
  const { identity = null, attemptedAuth = null, trace = null, cache, idempotency, ...other } = more
  const { side = null, attempts: count = 1, failedAttempts: failed = null, ...edge } = other
  const { fellBack = false, upstreamMs = 9, ...rest } = edge
  const attempts = { count, last, failed, fellBack, upstreamMs, wasSent: last !== null }
  const replays = idempotency?.outcome === 'replayed' ? 'unknown-side' : null
  const outcome =
    cache === undefined
      ? (idempotency ?? null) && fakeOutcome('', replays, { source: 'idempotency', ...idempotency, isAudited: true })
      : fakeOutcome(cache, cache === 'miss' || cache === 'bypass' ? null : 'side-of-client')
  const facts = { identity, attemptedAuth, attempts, trace, outcome, side }
  return {
    ...{ requestId: 'id', client: '192.0.2.7', method: 'GET', path: null, status: 200, totalMs: 12, firstByteMs: 10 },
    ...{ bytesIn: 3, bytesOut: 5, configHash: '0123456789ab', failure: null },
    ...rest,
    exchange: operation === undefined ? null : { ...facts, operation },
  }
}
