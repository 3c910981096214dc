import { openDownstreamServer } from '../../src/core/downstream/listener/downstream-server.ts'
import type { Handler } from '../../src/core/exchange/exchange.ts'
import type { GatewayOptions } from '../../src/core/runtime/gateway.ts'
import { createProcessTelemetry, listObservers } from '../../src/core/runtime/pipeline/observers.ts'
import { CurrentSnapshot, createSnapshot, type Snapshot } from '../../src/core/runtime/snapshot/snapshot.ts'
import { allOperations } from '../../src/operations.ts'
import type { OpenedGateway } from './gateway.ts'

/** What the planted bug says: all that must never reach a client. */
export const bugMessage = 'planted at /srv/gateway/src/planted.ts:7:11, connecting to 192.0.2.7:9443'

/** Opens the public listener in front of nine handles with a bug: of GET they throw, of POST they reject. */
export const openBrokenGateway = async ({
  loaded,
  log,
}: Pick<GatewayOptions, 'loaded' | 'log'>): Promise<OpenedGateway> => {
  const throws: Handler = () => {
    throw new TypeError(bugMessage)
  }
  const rejects: Handler = () => Promise.reject(new TypeError(bugMessage))
  const handles = Object.fromEntries(allOperations.map(({ id, method }) => [id, method === 'GET' ? throws : rejects]))
  const nothing = async (): Promise<void> => {}
  const telemetry = createProcessTelemetry(log, 'gateway')
  const parts = {
    config: loaded.config,
    parts: {} as Snapshot['parts'],
    handlers: handles as Snapshot['handlers'],
    upstreams: {} as Snapshot['upstreams'], // nothing is ever sent
    others: {} as Snapshot['others'],
    telemetry,
    observers: listObservers(loaded.config, telemetry, []),
  }
  const snapshot = createSnapshot(parts, nothing)
  const live = new CurrentSnapshot(snapshot)
  const server = await openDownstreamServer(live, log)
  return {
    address: server.address,
    close: async () => {
      await server.close(1000)
      await live.close()
    },
  }
}
