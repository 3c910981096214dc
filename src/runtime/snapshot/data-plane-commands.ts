import type { PurgeScope } from '../../layers/cache/cache-store.ts'
import type { Group } from '../../operations.ts'
import type { PurgeResult } from '../resources/cache-registry.ts'
import type { DataPlane } from './data-plane.ts'

/**
 * What operators can have done in each process that serves clients: what a command takes, and its result. Both cross
 * to other processes, so they are plain data.
 */
export interface DataPlaneCommands {
  /** Ends the ejection of an endpoint, named as `/status` shows it. */
  readonly uneject: { readonly takes: { readonly group: Group; readonly url: string }; readonly gives: undefined }
  /** Removes what is stored. */
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

/** Carries out a command in this process. */
export const runInProcess = <Name extends keyof DataPlaneCommands>(
  plane: DataPlane,
  name: Name,
  what: DataPlaneCommands[Name]['takes'],
): Promise<DataPlaneCommands[Name]['gives']> => handlers[name](plane, what)

/** Has a command carried out in every process that serves. */
export type RunInAllProcesses = <Name extends keyof DataPlaneCommands>(
  name: Name,
  what: DataPlaneCommands[Name]['takes'],
) => Promise<{
  /** The results, one for each process that answered. A process that has gone has nothing left to do. */
  readonly results: readonly DataPlaneCommands[Name]['gives'][]
  /** How many workers did not answer in time. */
  readonly unanswered: number
}>
