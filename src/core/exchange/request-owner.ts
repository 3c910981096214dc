import type { FairQuota, QuotaShare } from '../lib/fair-quota.ts'
import { toNetworkKey } from '../lib/net/addresses.ts'
import type { Exchange } from './exchange.ts'

/** Whose a request is: a client of the file, or the network of an address where no client is known. */
export type RequestOwner = { readonly client: string } | { readonly address: string }

/** The leading bits of an IPv6 address that count as one client, unless `limits.address.ipv6Prefix` says otherwise. */
export const defaultIpv6Prefix = 64

/** Finds the owner of a request: the client that was authenticated, or else its address, as limits count addresses. */
export const findRequestOwner = (
  { identity, client }: Pick<Exchange, 'identity' | 'client'>,
  ipv6Prefix = defaultIpv6Prefix,
): RequestOwner => (identity === null ? { address: toNetworkKey(client, ipv6Prefix) } : { client: identity.client })

/** Names an owner in one text. A client's id may look like an address, but no address begins as an id does here. */
export const formatOwner = (owner: RequestOwner): string => ('client' in owner ? `id ${owner.client}` : owner.address)

/**
 * Returns the share of a request's owner in the room for bodies. The owner is found when something is reserved: most
 * small bodies take no room.
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
