import { bare, bareDirect } from './bare.ts'
import { caddy } from './caddy.ts'
import { before, gateway, policies, workers } from './gateway.ts'
import { haproxy } from './haproxy.ts'
import { httpxy } from './httpxy.ts'
import { nginx, nginxMemory } from './nginx.ts'
import type { Peer } from './peer.ts'

/** Lists the peers, in the order of the tables. */
export const peers: readonly Peer[] = [
  gateway,
  before,
  policies,
  workers,
  bare,
  bareDirect,
  httpxy,
  nginx,
  nginxMemory,
  haproxy,
  caddy,
]
