import type { Feature } from '../../core/feature.ts'

/** Learns from load balancers in front who their clients are, by the PROXY protocol. */
export const proxyProtocol: Feature = {
  name: 'proxy-protocol',
  facts: {
    // TLS may end in front, at a load balancer that does not say so.
    clientScheme: ({ proxyProtocol }) =>
      proxyProtocol === null ? null : proxyProtocol.scheme === 'https' ? 'https:' : '',
  },
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadListenerPart: () => import('./listener.ts'),
}
