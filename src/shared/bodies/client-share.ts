import type { Exchange } from '../../exchange.ts'
import { toNetworkKey } from '../rate-limiter/network-key.ts'
import type { BodyRoom, BodyShare } from './body-room.ts'

// What `limits.address.ipv6Prefix` is unless said.
const ipv6Prefix = 64

/** Returns the client's share of the room for bodies: by its id, or by the network of its address. */
export const clientShare = (room: BodyRoom, { identity, client }: Exchange): BodyShare =>
  room.shareOf(identity === null ? toNetworkKey(client, ipv6Prefix) : `id ${identity.client}`)
