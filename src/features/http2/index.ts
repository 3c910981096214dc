import type { Feature } from '../../core/feature.ts'

export const http2: Feature = {
  name: 'http2',
  facts: { mayLackFields: (listen) => listen.http2 },
  loadCommands: async () => ({
    loadExplain: async () => ({
      settings: [
        { after: 'tls', rows: ({ listen }, rowsUnder) => (listen.tls === null ? [] : rowsUnder('listen.http2')) },
      ],
    }),
  }),
  loadConfigPart: () => import('./config.ts'),
  loadListenerPart: () => import('./listener.ts'),
}
