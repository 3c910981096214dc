import { bare, bareDirect, nodeCacheServer, nodeFloorServer } from './bare.ts'
import { caddy } from './caddy.ts'
import {
  before,
  cache,
  cacheBefore,
  gateway,
  gatewayH2,
  gatewayTls,
  policies,
  traced,
  uncounted,
  workers,
} from './gateway.ts'
import { haproxy, haproxyH2, haproxyTls } from './haproxy.ts'
import { httpxy } from './httpxy.ts'
import { nginx, nginxCache, nginxH2, nginxMemory, nginxTls } from './nginx.ts'
import type { Peer } from './peer.ts'

/** Lists the peers, in the order of the tables. */
export const peers: readonly Peer[] = [
  gateway,
  before,
  uncounted,
  traced,
  policies,
  workers,
  cache,
  cacheBefore,
  gatewayTls,
  gatewayH2,
  bare,
  bareDirect,
  nodeCacheServer,
  nodeFloorServer,
  httpxy,
  nginx,
  nginxMemory,
  nginxCache,
  nginxTls,
  nginxH2,
  haproxy,
  haproxyTls,
  haproxyH2,
  caddy,
]
