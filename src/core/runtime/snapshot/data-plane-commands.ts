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
 * In every process that serves clients, or in one where that is enough. After `urgent` resolves, silent workers are not
 * waited for.
 */
export type RunInAllProcesses = <Name extends keyof DataPlaneCommands>(
  name: Name,
  params: DataPlaneCommands[Name]['params'],
  urgent?: Promise<void>,
) => Promise<{
  /** One for each process that replied. A process that has ended needs no command. */
  readonly results: readonly DataPlaneCommands[Name]['result'][]
  readonly unanswered: number
}>
