import type { FailureKind } from '../../exchange/failures/failure-table.ts'
import type { NotServingReason } from '../../runtime/proxy-server.ts'
import type { AdminContext } from '../admin-context.ts'

/** Why this gateway takes no new clients, apart from its upstreams' state. */
export type NotReadyReason = 'draining' | NotServingReason | FailureKind

/**
 * Upstreams do not count: a gateway whose upstream is down still explains the failure best.
 * A gateway that rejects every exchange counts, e.g. a full disk stops recording: another gateway may have room.
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
