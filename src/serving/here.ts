import type { Socket } from 'node:net'
import { now } from '../clock.ts'
import type { Log } from '../observe/log.ts'
import { openPublicServer, type PublicServer, type PublicServerOptions } from '../public/server.ts'
import type { Place } from '../shared/place.ts'
import type { State } from '../snapshot/build.ts'
import { runHere } from '../snapshot/commands.ts'
import type { Plane } from '../snapshot/plane.ts'
import { reportOn } from '../snapshot/report.ts'
import { readyFor } from '../snapshot/tracings.ts'
import type { Prepared, Serving } from './serving.ts'

/** Serves clients in this process, where the file says unless told otherwise. Rejects when it cannot listen there. */
export const serveHere = async (plane: Plane, log: Log, place?: Place): Promise<Serving> =>
  serveBy(plane, await open(plane, log, { place }))

/** Serves clients whose connections another process accepts. */
export const serveHanded = async (
  plane: Plane,
  log: Log,
  told: Required<Pick<PublicServerOptions, 'pseudonym' | 'ticketSecret' | 'worker'>>,
): Promise<Handed> => {
  const server = await open(plane, log, { place: 'elsewhere', ...told })
  return { ...serveBy(plane, server), take: (socket) => server.take(socket) }
}

/** Is a {@link Serving} that connections are handed to. */
export interface Handed extends Serving {
  take(socket: Socket): void
}

const open = (plane: Plane, log: Log, options: PublicServerOptions): Promise<PublicServer> =>
  openPublicServer(plane.live, log, options).catch(async (error) => {
    await plane.close(0)
    throw error
  })

const serveBy = (plane: Plane, server: PublicServer): Serving => {
  const { live } = plane
  const { loop } = live.current.pressure // all snapshots have the same
  loop.follow(live.current.config.limits.eventLoopDelay)
  return {
    address: server.address,
    async prepare(state: State): Promise<Prepared> {
      await readyFor(state.config)
      const next = plane.build(state)
      return {
        async commit() {
          live.swap(next)
          server.bound(state.config.listen)
          loop.follow(state.config.limits.eventLoopDelay)
        },
        discard: () => next.retire(),
      }
    },
    notServing: () => (server.isListening ? null : 'not-listening'),
    report: async () => reportOn(live),
    workers: () => [],
    droppedLines: () => 0,
    command: async (name, what) => ({ results: [await runHere(plane, name, what)], unanswered: 0 }),
    drain: () => server.drain(),
    leave: () => server.leave(),
    async close(deadlineMs) {
      const startedAt = now()
      await server.close(deadlineMs)
      loop.follow(null)
      await plane.close(Math.max(0, deadlineMs - (now() - startedAt)))
    },
  }
}
