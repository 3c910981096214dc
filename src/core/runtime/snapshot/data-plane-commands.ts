import type { PurgeResult } from '../../../features/cache/cache-registry.ts'
import type { PurgeScope } from '../../../features/cache/store/cache-store.ts'
import type { LearnedContract } from '../../../features/contract-learning/learn/learned-contract.ts'
import {
  findKeyRecord,
  forgetKeyRecord,
  type KeyReference,
  type LookupFailure,
} from '../../../features/idempotency/idempotency-lookup.ts'
import type { IdempotencyReplies, RecordSummary } from '../../../features/idempotency/store/idempotency-store.ts'
import type { Group } from '../../../operations.ts'
import type { RecentRequestsReport } from '../../log/recent-errors/recent-errors.ts'
import type { DataPlane } from './data-plane.ts'

/**
 * The operators' commands that run in the processes which serve clients: the parameter of each, and its result. Both
 * cross to other processes, so they are plain data.
 */
export interface DataPlaneCommands {
  /** Ends the ejection of an endpoint, named as `/status` shows it. */
  readonly uneject: { readonly params: { readonly group: Group; readonly url: string }; readonly result: undefined }
  readonly purge: { readonly params: PurgeScope; readonly result: PurgeResult }
  /** Collects the requests that ended since an operator watches, and has those kept that end within seconds. */
  readonly watchRequests: { readonly params: object; readonly result: RecentRequestsReport }
  /** Collects what was learnt of the contract. Null: nothing was, since the process started. */
  readonly learned: { readonly params: object; readonly result: LearnedContract | null }
  /** Finds what is remembered of a key of idempotency. Runs in one process. */
  readonly findKey: { readonly params: KeyReference; readonly result: RecordSummary | false | LookupFailure }
  /**
   * Forgets a key of idempotency; false: nothing was remembered of it. `in-progress`: it was left alone. Runs in one
   * process.
   */
  readonly forgetKey: {
    readonly params: KeyReference
    readonly result: IdempotencyReplies['forget'] | LookupFailure
  }
}

// What all processes together remember is asked for once: a second process would forget what came meanwhile.
const commandsRunOnce: ReadonlySet<keyof DataPlaneCommands> = new Set(['findKey', 'forgetKey'])

// The primary of several workers has what those that have ended had learnt.
const commandsOfPrimary: ReadonlySet<keyof DataPlaneCommands> = new Set(['learned'])

/** Tells whether a command runs in the primary of several workers, too. */
export const runsInPrimary = (name: keyof DataPlaneCommands): boolean => commandsOfPrimary.has(name)

/** Tells whether a command runs in one process that serves clients, in place of all of them. */
export const runsOnce = (name: keyof DataPlaneCommands): boolean => commandsRunOnce.has(name)

const handlers: {
  readonly [Name in keyof DataPlaneCommands]: (
    plane: DataPlane,
    params: DataPlaneCommands[Name]['params'],
  ) => Promise<DataPlaneCommands[Name]['result']>
} = {
  async uneject({ currentSnapshot }, { group, url }) {
    const { upstreams, candidates } = currentSnapshot.value
    for (const member of [...upstreams[group].members, ...(candidates[group]?.members ?? [])])
      if (member.name === url) member.health.uneject()
    return undefined
  },
  purge: (plane, scope) => plane.purge(scope),
  watchRequests: async ({ currentSnapshot }) => currentSnapshot.value.telemetry.recentRequests.watch(),
  learned: async ({ currentSnapshot }) => currentSnapshot.value.learning?.learner.report ?? null,
  findKey: ({ currentSnapshot }, reference) => findKeyRecord(currentSnapshot.value, reference),
  forgetKey: ({ currentSnapshot }, reference) => forgetKeyRecord(currentSnapshot.value, reference),
}

export const runInProcess = <Name extends keyof DataPlaneCommands>(
  plane: DataPlane,
  name: Name,
  params: DataPlaneCommands[Name]['params'],
): Promise<DataPlaneCommands[Name]['result']> => handlers[name](plane, params)

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
