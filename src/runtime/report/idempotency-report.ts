import { pluck, sum, type WithWhere, worstWorker } from '../../observe/sum-reports.ts'
import type { IdempotencyState } from '../resources/idempotency-registry.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** What a process remembers of requests with a key of idempotency, as plain data. */
export type IdempotencyReport = WithWhere<IdempotencyState>

/**
 * Collects the report on what is remembered for a snapshot. Null: no operation has idempotency, or another process
 * remembers.
 */
export const collectIdempotencyReport = ({ idempotency }: Snapshot): IdempotencyReport | null => {
  const state = idempotency?.state() ?? null
  return state && { ...state, where: null }
}

/** Merges the reports of several workers. The primary keeps the memory. The workers use Redis, and the worst wins. */
export const mergeIdempotencyReports = (
  primary: IdempotencyReport | null,
  workers: readonly IdempotencyReport[],
): IdempotencyReport | null => {
  const worst = worstWorker(workers, ({ state }) => state === 'unavailable')
  if (worst === null) return primary
  return { ...worst, dropped: sum(pluck(workers, 'dropped')), refused: sum(pluck(workers, 'refused')) }
}
