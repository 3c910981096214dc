import type { Config } from '../../config/config.ts'
import { deserializeClients, serializeClients } from '../../config/load/serialize-clients.ts'
import type { InvalidationTarget } from '../../layers/cache/invalidation.ts'
import type { Override, OverridesView } from '../../runtime/overrides.ts'
import type { StatusReport } from '../../runtime/report/status-report.ts'
import type { SnapshotInput } from '../../runtime/snapshot/build-snapshot.ts'
import type { DataPlaneCommands } from '../../runtime/snapshot/data-plane-commands.ts'
import type { ConsumeResult } from '../../shared/rate-limiter/token-bucket.ts'
import type { HealthVerdict } from '../../upstream/endpoints/endpoint-registry.ts'

/** Is a {@link SnapshotInput} that can be sent to another process: plain data. */
export interface SerializedSnapshotInput {
  /** Without its clients. */
  readonly config: Config
  /** The clients, as texts: to send thousands of objects takes many times as long. */
  readonly clients: readonly string[]
  readonly operations: OverridesView['operations']['all']
  readonly endpoints: OverridesView['endpoints']['all']
  readonly sandboxOrigin: string | null
}

/** Is what a worker is told when it begins. */
export interface WorkerInit {
  readonly type: 'start'
  /** Counted from 1; its successor has the same. */
  readonly worker: number
  /** How many there are. */
  readonly workers: number
  /** How long it waits for what it has counted. */
  readonly countMs: number
  readonly state: SerializedSnapshotInput
  readonly verdicts: readonly HealthVerdict[]
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  /** What the keys of TLS session tickets are made from: one for all, so that a client resumes with whichever it comes to. */
  readonly ticketSecret: string
  /** Whether the gateway is on its way down. */
  readonly draining: boolean
  /** Whether the audit log cannot be written just now. */
  readonly auditFailing: boolean
}

/**
 * Is what the primary asks of a worker, which answers each with `done` and the same `id`. Messages arrive in the order that they were
 * sent in: what a worker was told last is what it runs.
 */
export type WorkerCallParams = {
  /** Do all that can fail before the state takes effect. */
  readonly prepare: { readonly prepared: number; readonly state: SerializedSnapshotInput }
  /** Put into effect what was prepared under that number. The verdicts are all that there are. */
  readonly commit: { readonly prepared: number; readonly verdicts: readonly HealthVerdict[] }
  /** Carry out what an operator wants done. */
  readonly command: {
    readonly name: keyof DataPlaneCommands
    readonly what: DataPlaneCommands[keyof DataPlaneCommands]['takes']
  }
  readonly report: object
}

/** Is what a worker answers, beyond that it has done so. */
export type WorkerCallResults = {
  readonly prepare: undefined
  readonly commit: undefined
  readonly command: DataPlaneCommands[keyof DataPlaneCommands]['gives']
  readonly report: {
    readonly report: StatusReport
    readonly droppedLines: number
    /** The hash of the configuration that it runs. */
    readonly config: string
  }
}

export type WorkerCall = {
  readonly [Type in keyof WorkerCallParams]: { readonly type: Type; readonly id: number } & WorkerCallParams[Type]
}[keyof WorkerCallParams]

/** Is what the primary tells a worker, which answers nothing. */
export type WorkerNotification =
  | { readonly type: 'discard'; readonly prepared: number }
  | { readonly type: 'verdict'; readonly verdict: HealthVerdict }
  | { readonly type: 'drain' }
  /** These have become invalid: another worker was told so. */
  | { readonly type: 'invalid'; readonly targets: readonly InvalidationTarget[] }
  /** The audit log cannot be written, or can be again. */
  | { readonly type: 'audit'; readonly failing: boolean }
  /** What came of a batch that it had counted. */
  | { readonly type: 'outcomes'; readonly batch: number; readonly outcomes: readonly ConsumeResult[] | null }
  /** A client's connection comes with it; what it is `counted` by, the worker says when it has ended. Null: by nothing. */
  | { readonly type: 'connection'; readonly counted: string | null }
  /** Finish what runs and exit. */
  | { readonly type: 'close'; readonly deadlineMs: number }

export type MessageToWorker = WorkerInit | WorkerCall | WorkerNotification

export type MessageToPrimary =
  /** It waits for connections. */
  | { readonly type: 'serving' }
  /** It cannot, and exits. */
  | { readonly type: 'failed'; readonly message: string }
  /** It has taken the connection, and may be given the next. */
  | { readonly type: 'taken' }
  /** Connections that were counted by these have ended. */
  | { readonly type: 'left'; readonly counted: readonly string[] }
  /** Write these lines of the audit log; so many were lost. */
  | { readonly type: 'audited'; readonly lines: readonly string[]; readonly lost: number }
  /** These have become invalid, and other workers may have stored them. */
  | { readonly type: 'invalidated'; readonly targets: readonly InvalidationTarget[] }
  /** Take one of a limit for each key: `outcomes` tells what came of it. */
  | { readonly type: 'takes'; readonly batch: number; readonly limit: string; readonly keys: readonly string[] }
  | { readonly type: 'done'; readonly id: number; readonly error: string | null; readonly result: unknown }

/** Makes a state that can be sent. */
export const serializeInput = ({ config, overrides, sandboxOrigin }: SnapshotInput): SerializedSnapshotInput => ({
  config: { ...config, clients: [] },
  clients: serializeClients(config.clients),
  operations: overrides.operations.all,
  endpoints: overrides.endpoints.all,
  sandboxOrigin,
})

/** Makes a state of what was sent. Clients that are as in `running` are the very same. */
export const deserializeInput = async (
  { config, clients, operations, endpoints, sandboxOrigin }: SerializedSnapshotInput,
  running: Config['clients'],
): Promise<SnapshotInput> => ({
  config: { ...config, clients: await deserializeClients(clients, running) },
  overrides: { operations: toLookup(operations), endpoints: toLookup(endpoints) },
  sandboxOrigin,
})

const toLookup = <Key, Name extends string>(all: readonly (readonly [Key, Override<Name>])[]) => {
  const byKey = new Map(all)
  return { all, get: (key: Key): Override<Name> | null => byKey.get(key) ?? null }
}
