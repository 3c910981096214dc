import type { DataPlaneCommand, DataPlaneCommands } from '../runtime-part.ts'
import type { DataPlane } from './data-plane.ts'
import type { Snapshot } from './snapshot.ts'

type Command<Name extends keyof DataPlaneCommands> = DataPlaneCommand & {
  run(params: DataPlaneCommands[Name]['params']): Promise<DataPlaneCommands[Name]['result']>
}

const ownCommands = ({ upstreams, others, telemetry }: Snapshot): Partial<Record<string, DataPlaneCommand>> => ({
  uneject: {
    async run({ group, url }: DataPlaneCommands['uneject']['params']) {
      for (const member of [...upstreams[group].members, ...(others[group]?.members ?? [])])
        if (member.name === url) member.health.uneject()
    },
  },
  watchRequests: { run: async () => telemetry.recentRequests.watch() },
})

/** Finds a command, of the gateway's own or of a feature. */
export const findCommand = <Name extends keyof DataPlaneCommands>(
  { currentSnapshot: { value: snapshot } }: DataPlane,
  name: Name,
): Command<Name> => {
  const all = [ownCommands(snapshot), ...Object.values(snapshot.parts).map(({ commands = {} }) => commands)]
  const found = all.map((commands) => commands[name]).find((command) => command !== undefined)
  if (found === undefined) throw new TypeError(`no feature has the command ${name}`)
  return found as Command<Name>
}

/**
 * Runs a command in every process that serves clients, or in one of them where that is enough. From when `urgent`
 * resolves, it does not wait for workers that do not answer.
 */
export type RunInAllProcesses = <Name extends keyof DataPlaneCommands>(
  name: Name,
  params: DataPlaneCommands[Name]['params'],
  urgent?: Promise<void>,
) => Promise<{
  /** The results, one for each process that replied. A process that has ended has nothing left to do. */
  readonly results: readonly DataPlaneCommands[Name]['result'][]
  /** How many workers did not reply in time. */
  readonly unanswered: number
}>
