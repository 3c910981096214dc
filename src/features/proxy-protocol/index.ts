import type { Feature } from '../../core/feature.ts'

/** Load balancers in front name their clients by the PROXY protocol. */
export const proxyProtocol: Feature = {
  name: 'proxy-protocol',
  facts: {
    // TLS may end at a load balancer in front that does not say so.
    clientScheme: ({ proxyProtocol }) =>
      proxyProtocol === null ? null : proxyProtocol.scheme === 'https' ? 'https:' : '',
  },
  loadCommands: async () => ({
    loadExplain: async () => ({
      settings: [{ before: 'trustedProxies', rows: (_, rowsUnder) => rowsUnder('listen.proxyProtocol') }],
    }),
  }),
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadListenerPart: () => import('./listener.ts'),
}
