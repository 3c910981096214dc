import type { Feature } from '../../core/feature.ts'
import { deserializeClients, serializeClients } from './serialize-clients.ts'

/** Knows the clients that the file names. */
export const clients: Feature = {
  name: 'clients',
  transfer: {
    pack: (config) => [{ ...config, clients: [] }, serializeClients(config.clients)],
    unpack: async (left, texts, running) =>
      Object.freeze({
        ...left,
        clients: await deserializeClients(texts as readonly string[], running?.clients ?? []),
      }),
  },
}
