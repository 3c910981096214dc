import type { Socket } from 'node:net'
import {
  type DownstreamServer,
  type DownstreamServerOptions,
  openDownstreamServer,
} from '../../downstream/listener/downstream-server.ts'
import { now } from '../../lib/clock.ts'
import type { BindTarget } from '../../lib/net/bind-target.ts'
import type { Log } from '../../log/log.ts'
import type { SnapshotInput } from '../runtime-part.ts'
import { prepareParts } from '../runtime-parts.ts'
import { type DataPlane, settleParts } from '../snapshot/data-plane.ts'
import { findCommand } from '../snapshot/data-plane-commands.ts'
import { collectReport } from '../status/report.ts'
import type { PreparedSnapshot, ProxyServer } from './proxy-server.ts'

/** Serves clients in this process; without a `bindTarget`, where the file says. Rejects when it cannot listen there. */
export const serveInProcess = async (dataPlane: DataPlane, log: Log, bindTarget?: BindTarget): Promise<ProxyServer> =>
  toProxyServer(dataPlane, await openListener(dataPlane, log, { bindTarget }))

/** Serves clients whose connections the primary accepts. */
export const serveAsWorker = async (
  dataPlane: DataPlane,
  log: Log,
  workerOptions: Required<Pick<DownstreamServerOptions, 'pseudonym' | 'ticketSecret' | 'worker' | 'countElsewhere'>>,
): Promise<ProxyServer & { adoptConnection(socket: Socket): void }> => {
  const server = await openListener(dataPlane, log, { bindTarget: 'elsewhere', ...workerOptions })
  return { ...toProxyServer(dataPlane, server), adoptConnection: (socket) => server.adoptConnection(socket) }
}

const openListener = (dataPlane: DataPlane, log: Log, options: DownstreamServerOptions): Promise<DownstreamServer> =>
  openDownstreamServer(dataPlane.currentSnapshot, log, options).catch(async (error) => {
    await dataPlane.close(0)
    throw error
  })

const toProxyServer = (dataPlane: DataPlane, server: DownstreamServer): ProxyServer => {
  const { currentSnapshot } = dataPlane
  return {
    address: server.address,
    async prepare(state: SnapshotInput): Promise<PreparedSnapshot> {
      await prepareParts(state.config)
      const applyListen = server.prepareConfig(state.config.listen)
      const next = dataPlane.buildNext(state)
      await settleParts(next)
      return {
        async commit() {
          currentSnapshot.swap(next)
          applyListen()
        },
        discard: () => next.retire(),
      }
    },
    notServing: () => (server.isListening ? null : 'not-listening'),
    report: async () => collectReport(currentSnapshot),
    workers: () => [],
    droppedLines: () => 0,
    runCommand: async (name, params) => ({ results: [await findCommand(dataPlane, name).run(params)], unanswered: 0 }),
    notify: (message) => dataPlane.receive(message, 'primary'),
    drain: () => server.drain(),
    stopAccepting: () => server.stopAccepting(),
    async close(deadlineMs) {
      const startedAt = now()
      await server.close(deadlineMs)
      await dataPlane.close(Math.max(0, deadlineMs - (now() - startedAt)))
    },
  }
}
