import { catalog, type OperationId } from '../../src/catalog.ts'
import type { Exchanged, Facts } from '../../src/observe/exchanged.ts'

/** What a test may say of an exchange. */
interface Said extends Partial<Omit<Exchanged, 'exchange'> & Omit<Facts, 'operation' | 'attempt'>> {
  readonly operation?: OperationId | null
  readonly endpoint?: string | null
}

/** Makes the record of an exchange that went well, but for what is said. */
export const exchanged = (said: Said = {}): Exchanged => {
  const { operation: id = 'market.insights', endpoint = 'http://market:8080', ...more } = said
  const operation = catalog.find((each) => each.id === id)
  const attempt = endpoint === null ? null : { endpoint, startedAt: 0, endedAt: 9, before: null }
  const { identity = null, proving = null, attempts = 1, failedAttempts = null, upstreamMs = 9, ...edge } = more
  const { trace = null, cache = null, digests = null, ...rest } = edge
  const facts = { identity, proving, attempt, attempts, failedAttempts, upstreamMs, trace, cache, digests }
  return {
    requestId: 'id',
    client: '192.0.2.7',
    method: 'GET',
    path: null,
    status: 200,
    totalMs: 12,
    firstByteMs: 10,
    bytesIn: 3,
    bytesOut: 5,
    configHash: '0123456789ab',
    failure: null,
    ...rest,
    exchange: operation === undefined ? null : { ...facts, operation },
  }
}
