import type { Socket } from 'node:net'
import { now } from '../lib/clock.ts'
import type { Log } from '../log/log.ts'
import { receiveAt } from '../runtime/channel.ts'
import type { PreparedSnapshot, ProxyServer } from '../runtime/proxy-server.ts'
import type { SnapshotInput } from '../runtime/runtime-part.ts'
import { prepareParts } from '../runtime/runtime-parts.ts'
import { type DataPlane, runInProcess, settleParts } from '../runtime/snapshot/data-plane.ts'
import { collectReport } from '../runtime/status/report.ts'
import { type DownstreamServerOptions, openDownstreamServer } from './listener/downstream-server.ts'

/** Rejects when it cannot listen. */
export const serveInProcess = async (
  dataPlane: DataPlane,
  log: Log,
  options: DownstreamServerOptions = {},
): Promise<ProxyServer & { adoptConnection(socket: Socket): void }> => {
  const { currentSnapshot } = dataPlane
  const server = await openDownstreamServer(currentSnapshot, log, options).catch(async (error) => {
    await dataPlane.close(0)
    throw error
  })
  return {
    address: server.address,
    processes: 1,
    async prepare(state: SnapshotInput): Promise<PreparedSnapshot> {
      await prepareParts(state)
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
    droppedLines: () => 0,
    runCommand: async (name, params) => ({ results: await runInProcess(dataPlane, name, params), silent: 0 }),
    notify: (message) => receiveAt(dataPlane.parts, message, 'primary'),
    adoptConnection: (socket) => server.adoptConnection(socket),
    drain: () => server.drain(),
    stopAccepting: () => server.stopAccepting(),
    async close(deadlineMs) {
      const startedAt = now()
      await server.close(deadlineMs)
      await dataPlane.close(Math.max(0, deadlineMs - (now() - startedAt)))
    },
  }
}
