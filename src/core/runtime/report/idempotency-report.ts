import type { IdempotencyState } from '../../../features/idempotency/idempotency-registry.ts'
import { pluck, sum, type WithWhere, worstWorker } from '../../log/sum-reports.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

export type IdempotencyReport = WithWhere<IdempotencyState>

/** Null: no operation has idempotency, or another process remembers. */
export const collectIdempotencyReport = ({ idempotency }: Snapshot): IdempotencyReport | null => {
  const state = idempotency?.state() ?? null
  return state && { ...state, where: null }
}

/** The primary keeps the memory. The workers use Redis, and the worst wins. */
export const mergeIdempotencyReports = (
  primary: IdempotencyReport | null,
  workers: readonly IdempotencyReport[],
): IdempotencyReport | null => {
  const worst = worstWorker(workers, ({ state }) => state === 'unavailable')
  if (worst === null) return primary
  return { ...worst, dropped: sum(pluck(workers, 'dropped')), refused: sum(pluck(workers, 'refused')) }
}
