import { catalog } from '../../src/catalog.ts'
import type { Handle } from '../../src/exchange.ts'
import type { GatewayOptions } from '../../src/gateway.ts'
import { noAuditor } from '../../src/observe/audit/line.ts'
import { openPublicServer } from '../../src/public/server.ts'
import { noCaches } from '../../src/snapshot/caches.ts'
import { noGuard } from '../../src/snapshot/guard.ts'
import { Live } from '../../src/snapshot/live.ts'
import { noPressure } from '../../src/snapshot/pressure.ts'
import { openObservation, recorders } from '../../src/snapshot/recorders.ts'
import { openSnapshot, type Snapshot } from '../../src/snapshot/snapshot.ts'
import type { Opened } from './gateway.ts'
import { noClientLimits } from './no-client-limits.ts'

/** What the planted bug says: all that must never reach a client. */
export const plantedMessage = 'planted at /srv/gateway/src/planted.ts:7:11, connecting to 192.0.2.7:9443'

/** Opens the public listener in front of nine handles with a bug: of GET they throw, of POST they reject. */
export const openBrokenGateway = async ({ loaded, log }: Pick<GatewayOptions, 'loaded' | 'log'>): Promise<Opened> => {
  const throws: Handle = () => {
    throw new TypeError(plantedMessage)
  }
  const rejects: Handle = () => Promise.reject(new TypeError(plantedMessage))
  const handles = Object.fromEntries(catalog.map(({ id, method }) => [id, method === 'GET' ? throws : rejects]))
  const nothing = async (): Promise<void> => {}
  const observation = openObservation(log, 'gateway')
  const parts = {
    config: loaded.config,
    handles: handles as Snapshot['handles'],
    upstreams: {} as Snapshot['upstreams'], // nothing is ever sent
    budgets: {} as Snapshot['budgets'],
    pressure: noPressure(),
    rates: { address: null, clients: noClientLimits },
    guard: noGuard,
    caches: noCaches(loaded.config),
    auditor: noAuditor,
    observation,
    recorders: recorders(loaded.config, observation, noAuditor),
  }
  const snapshot = openSnapshot(parts, nothing)
  const live = new Live(snapshot)
  const server = await openPublicServer(live, log)
  return {
    address: server.address,
    close: async () => {
      await server.close(1000)
      await live.close()
    },
  }
}
