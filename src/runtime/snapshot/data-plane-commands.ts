import type { PurgeScope } from '../../layers/cache/cache-store.ts'
import type { Group } from '../../operations.ts'
import type { PurgeResult } from '../resources/cache-registry.ts'
import type { DataPlane } from './data-plane.ts'

/**
 * The operators' commands that run in each process which serves clients: the parameter of each, and its result. Both
 * cross to other processes, so they are plain data.
 */
export interface DataPlaneCommands {
  /** Ends the ejection of an endpoint, named as `/status` shows it. */
  readonly uneject: { readonly takes: { readonly group: Group; readonly url: string }; readonly gives: undefined }
  /** Removes stored responses. */
  readonly purge: { readonly takes: PurgeScope; readonly gives: PurgeResult }
}

const handlers: {
  readonly [Name in keyof DataPlaneCommands]: (
    plane: DataPlane,
    what: DataPlaneCommands[Name]['takes'],
  ) => Promise<DataPlaneCommands[Name]['gives']>
} = {
  async uneject({ currentSnapshot }, { group, url }) {
    for (const member of currentSnapshot.value.upstreams[group].members)
      if (member.name === url) member.health.uneject()
    return undefined
  },
  purge: (plane, what) => plane.purge(what),
}

/** Runs a command in this process. */
export const runInProcess = <Name extends keyof DataPlaneCommands>(
  plane: DataPlane,
  name: Name,
  what: DataPlaneCommands[Name]['takes'],
): Promise<DataPlaneCommands[Name]['gives']> => handlers[name](plane, what)

/** Runs a command in every process that serves clients. */
export type RunInAllProcesses = <Name extends keyof DataPlaneCommands>(
  name: Name,
  what: DataPlaneCommands[Name]['takes'],
) => Promise<{
  /** The results, one for each process that replied. A process that has ended has nothing left to do. */
  readonly results: readonly DataPlaneCommands[Name]['gives'][]
  /** How many workers did not reply in time. */
  readonly unanswered: number
}>
