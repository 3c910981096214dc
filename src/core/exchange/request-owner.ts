import type { FairQuota, QuotaShare } from '../lib/fair-quota.ts'
import { toNetworkKey } from '../lib/net/addresses.ts'
import type { Exchange } from './exchange.ts'

/** A configured client, or the network of an unknown client's address. */
export type RequestOwner = { readonly client: string } | { readonly address: string }

/** The bits of an IPv6 address that count as one client. Default of `limits.address.ipv6Prefix`. */
export const defaultIpv6Prefix = 64

export const findRequestOwner = (
  { identity, client }: Pick<Exchange, 'identity' | 'client'>,
  ipv6Prefix = defaultIpv6Prefix,
): RequestOwner => (identity === null ? { address: toNetworkKey(client, ipv6Prefix) } : { client: identity.client })

/** Client ids may look like addresses, so `id ` marks them. */
export const formatOwner = (owner: RequestOwner): string => ('client' in owner ? `id ${owner.client}` : owner.address)

/** The owner is found at the first reservation: most small bodies take no room. */
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
