import type { Feature } from '../../core/feature.ts'

export const http2: Feature = {
  name: 'http2',
  facts: { mayLackFields: ({ http2 }) => http2 === 'node' },
  loadCommands: async () => ({
    loadExplain: async () => ({
      settings: [
        { after: 'tls', rows: ({ listen }, rowsUnder) => (listen.tls === null ? [] : rowsUnder('listen.http2')) },
      ],
    }),
  }),
  loadConfigPart: () => import('./config.ts'),
  loadListenerPart: async () => ({
    /** While HTTP/2 is off, its modules are not loaded. */
    openProtocol(options) {
      const { http2 } = options.getListenerConfig().config.listen
      if (http2 === null) return null
      return http2 === 'node'
        ? import('./node/sessions.ts').then(({ createNodeSessions }) => createNodeSessions(options))
        : import('./sessions.ts').then(({ createHttp2Sessions }) => createHttp2Sessions(options))
    },
    describe: ({ http2 }) => ({ http2: http2 !== null }),
  }),
}
