import type { FailureKind } from '../../exchange/failures/failure-table.ts'
import type { NotServingReason } from '../../runtime/proxy-server.ts'
import type { AdminContext } from '../admin-context.ts'

export type NotReadyReason = 'draining' | NotServingReason | FailureKind

/**
 * The state of upstreams does not count: with its upstream down, the gateway still explains the failure best. A gateway
 * that rejects every exchange is not ready: after a full disk stops its audit log, another gateway may have room.
 */
export const getNotReadyReason = ({
  draining,
  notServing,
  parts,
}: Pick<AdminContext, 'draining' | 'notServing' | 'parts'>): NotReadyReason | null => {
  if (draining()) return 'draining'
  const rejecting = Object.values(parts).map((part) => part.rejectsAll?.() ?? null)
  return notServing() ?? rejecting.find((reason) => reason !== null) ?? null
}
