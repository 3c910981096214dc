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
  loadListenerPart: async () => ({
    /** Off, a listener loads nothing of HTTP/2. */
    openProtocol: (options) =>
      options.getListenerConfig().config.listen.http2
        ? import('./node/sessions.ts').then(({ createNodeSessions }) => createNodeSessions(options))
        : null,
    describe: ({ http2 }) => ({ http2 }),
  }),
}
