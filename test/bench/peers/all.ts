import { bare, bareDirect } from './bare.ts'
import { caddy } from './caddy.ts'
import { before, gateway, gatewayTls, policies, workers } from './gateway.ts'
import { haproxy, haproxyTls } from './haproxy.ts'
import { httpxy } from './httpxy.ts'
import { nginx, nginxMemory, nginxTls } from './nginx.ts'
import type { Peer } from './peer.ts'

/** Lists the peers, in the order of the tables. */
export const peers: readonly Peer[] = [
  gateway,
  before,
  policies,
  workers,
  gatewayTls,
  bare,
  bareDirect,
  httpxy,
  nginx,
  nginxMemory,
  nginxTls,
  haproxy,
  haproxyTls,
  caddy,
]
