import type { Exchange } from '../../exchange.ts'
import type { FairQuota, QuotaShare } from '../fair-quota.ts'
import { findRequestOwner, formatOwner } from '../request-owner.ts'

/**
 * Returns the client's share of the room for bodies: by its id, or by the network of its address. Whose it is, is found
 * out when something is reserved: most small bodies take no room.
 */
export const clientShare = (room: FairQuota, exchange: Exchange): QuotaShare => {
  let share: QuotaShare | null = null
  return {
    reserve: (bytes) => {
      share ??= room.shareOf(formatOwner(findRequestOwner(exchange)))
      return share.reserve(bytes)
    },
    release: (bytes) => share?.release(bytes),
  }
}
