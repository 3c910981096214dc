import type { Group } from '../catalog.ts'
import { now } from '../clock.ts'
import type { Log } from '../observe/log.ts'
import { openPublicServer } from '../public/server.ts'
import type { Place } from '../shared/place.ts'
import type { Live } from '../snapshot/live.ts'
import type { Plane, State } from '../snapshot/plane.ts'
import { reportOn } from '../snapshot/report.ts'
import type { Prepared, Serving } from './serving.ts'

/** Serves clients in this process, where the file says unless told otherwise. Rejects when it cannot listen there. */
export const serveHere = async (plane: Plane, log: Log, place?: Place): Promise<Serving> => {
  const { live } = plane
  const server = await openPublicServer(live, log, place).catch(async (error) => {
    await plane.close(0)
    throw error
  })
  return {
    address: server.address,
    async prepare(state: State): Promise<Prepared> {
      const next = plane.build(state)
      return {
        async commit() {
          live.swap(next)
          server.bound(state.config.listen)
        },
        discard: () => next.retire(),
      }
    },
    report: async () => reportOn(live),
    lift: (group, url) => lift(live, group, url),
    drain: () => server.drain(),
    descriptor: () => server.descriptor(),
    leave: () => server.leave(),
    async close(deadlineMs) {
      const startedAt = now()
      await server.close(deadlineMs)
      await plane.close(Math.max(0, deadlineMs - (now() - startedAt)))
    },
  }
}

const lift = ({ current }: Live, group: Group, url: string): void => {
  for (const member of current.upstreams[group].members) if (member.name === url) member.lift()
}
