import type { Feature } from '../../core/feature.ts'

/** Learns from load balancers in front who their clients are, by the PROXY protocol. */
export const proxyProtocol: Feature = {
  name: 'proxy-protocol',
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadListenerPart: () => import('./listener.ts'),
}
