import { catalog } from '../../src/catalog.ts'
import type { Config } from '../../src/config/config.ts'
import type { Handle } from '../../src/exchange.ts'
import type { Gateway } from '../../src/gateway.ts'
import type { Log } from '../../src/observe/log.ts'
import { openPublicServer } from '../../src/public/server.ts'
import { Live } from '../../src/snapshot/live.ts'
import { build, Snapshot } from '../../src/snapshot/snapshot.ts'

/** What the planted bug says: all that must never reach a client. */
export const plantedMessage = 'planted at /srv/gateway/src/planted.ts:7:11, connecting to 192.0.2.7:9443'

/** Opens the public listener in front of nine handles with a bug: of GET they throw, of POST they reject. */
export const openBrokenGateway = async (config: Config, log: Log): Promise<Gateway> => {
  const sound = build(config, 'http://sandbox.invalid')
  const throws: Handle = () => {
    throw new TypeError(plantedMessage)
  }
  const rejects: Handle = () => Promise.reject(new TypeError(plantedMessage))
  const handles = Object.fromEntries(catalog.map(({ id, method }) => [id, method === 'GET' ? throws : rejects]))
  const live = new Live(new Snapshot(config, handles as Snapshot['handles'], sound.upstreams))
  const server = await openPublicServer(live, log)
  return {
    address: server.address,
    close: async () => {
      await server.close(1000)
      await live.current.retire(1000)
    },
  }
}
