import { bare, bareDirect, nodeCacheServer, nodeFloorServer, nodeH2Floor, socketFloorServer } from './bare.ts'
import { caddy } from './caddy.ts'
import {
  gateway,
  gatewayBefore,
  gatewayCache,
  gatewayCacheBefore,
  gatewayH2,
  gatewayH2Before,
  gatewayH2Node,
  gatewayPolicies,
  gatewayTls,
  gatewayTlsBefore,
  gatewayTraced,
  gatewayUncounted,
  gatewayWorkers,
} from './gateway.ts'
import { haproxy, haproxyH2, haproxyTls } from './haproxy.ts'
import { httpxy } from './httpxy.ts'
import { nginx, nginxCache, nginxH2, nginxMemory, nginxTls } from './nginx.ts'
import type { Peer } from './peer.ts'

/** Lists the peers, in the order of the tables. */
export const peers: readonly Peer[] = [
  gateway,
  gatewayBefore,
  gatewayUncounted,
  gatewayTraced,
  gatewayPolicies,
  gatewayWorkers,
  gatewayCache,
  gatewayCacheBefore,
  gatewayTls,
  gatewayTlsBefore,
  gatewayH2,
  gatewayH2Before,
  gatewayH2Node,
  bare,
  bareDirect,
  nodeCacheServer,
  nodeFloorServer,
  nodeH2Floor,
  socketFloorServer,
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
