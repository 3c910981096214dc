import type { Group } from '../catalog.ts'
import type { Cleared } from '../layers/cache/store.ts'
import type { ClearedHere } from './caches.ts'
import type { Plane } from './plane.ts'

/**
 * What operators can have done in each process that serves clients: what a command takes, and its result. Both cross
 * to other processes, so they are plain data.
 */
export interface PlaneCommands {
  /** Ends the ejection of an endpoint, named as `/status` shows it. */
  readonly lift: { readonly takes: { readonly group: Group; readonly url: string }; readonly gives: undefined }
  /** Removes what is stored. */
  readonly clear: { readonly takes: Cleared; readonly gives: ClearedHere }
}

const commands: {
  readonly [Name in keyof PlaneCommands]: (
    plane: Plane,
    what: PlaneCommands[Name]['takes'],
  ) => Promise<PlaneCommands[Name]['gives']>
} = {
  async lift({ live }, { group, url }) {
    for (const member of live.current.upstreams[group].members) if (member.name === url) member.standing.lift()
    return undefined
  },
  clear: (plane, what) => plane.clear(what),
}

/** Carries out a command in this process. */
export const runHere = <Name extends keyof PlaneCommands>(
  plane: Plane,
  name: Name,
  what: PlaneCommands[Name]['takes'],
): Promise<PlaneCommands[Name]['gives']> => commands[name](plane, what)

/** Has a command carried out in every process that serves. */
export type RunEverywhere = <Name extends keyof PlaneCommands>(
  name: Name,
  what: PlaneCommands[Name]['takes'],
) => Promise<{
  /** The results, one for each process that answered. A process that has gone has nothing left to do. */
  readonly results: readonly PlaneCommands[Name]['gives'][]
  /** How many workers did not answer in time. */
  readonly unanswered: number
}>
