import type { Exchange } from '../../exchange.ts'
import { findRequestOwner, formatOwner } from '../exchange/request-owner.ts'
import type { BodyRoom, BodyShare } from './body-room.ts'

/** Returns the client's share of the room for bodies: by its id, or by the network of its address. */
export const clientShare = (room: BodyRoom, exchange: Exchange): BodyShare =>
  room.shareOf(formatOwner(findRequestOwner(exchange)))
