import { clientsFrom, textsOf } from '../config/client-texts.ts'
import type { Config } from '../config/config.ts'
import type { Target } from '../layers/cache/invalidate.ts'
import type { Outcome } from '../shared/limiter/bucket.ts'
import type { State } from '../snapshot/build.ts'
import type { PlaneCommands } from '../snapshot/commands.ts'
import type { Override, Said } from '../snapshot/overrides.ts'
import type { Report } from '../snapshot/report.ts'
import type { Verdict } from '../upstream/endpoints.ts'

/** Is a {@link State} that can be sent to another process: plain data. */
export interface PlainState {
  /** Without its clients. */
  readonly config: Config
  /** The clients, as texts: to send thousands of objects takes many times as long. */
  readonly clients: readonly string[]
  readonly operations: Said['operations']['all']
  readonly endpoints: Said['endpoints']['all']
  readonly sandboxOrigin: string | null
}

/** Is what a worker is told when it begins. */
export interface Start {
  readonly type: 'start'
  /** Counted from 1; its successor has the same. */
  readonly worker: number
  /** How many there are. */
  readonly workers: number
  /** How long it waits for what it has counted. */
  readonly countMs: number
  readonly state: PlainState
  readonly verdicts: readonly Verdict[]
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
export type Question = {
  /** Do all that can fail before the state takes effect. */
  readonly prepare: { readonly prepared: number; readonly state: PlainState }
  /** Put into effect what was prepared under that number. The verdicts are all that there are. */
  readonly commit: { readonly prepared: number; readonly verdicts: readonly Verdict[] }
  /** Carry out what an operator wants done. */
  readonly command: { readonly name: keyof PlaneCommands; readonly what: PlaneCommands[keyof PlaneCommands]['takes'] }
  readonly report: object
}

/** Is what a worker answers, beyond that it has done so. */
export type Answer = {
  readonly prepare: undefined
  readonly commit: undefined
  readonly command: PlaneCommands[keyof PlaneCommands]['gives']
  readonly report: {
    readonly report: Report
    readonly droppedLines: number
    /** The hash of the configuration that it runs. */
    readonly config: string
  }
}

export type Ask = {
  readonly [Type in keyof Question]: { readonly type: Type; readonly id: number } & Question[Type]
}[keyof Question]

/** Is what the primary tells a worker, which answers nothing. */
export type Notice =
  | { readonly type: 'discard'; readonly prepared: number }
  | { readonly type: 'verdict'; readonly verdict: Verdict }
  | { readonly type: 'drain' }
  /** These have become invalid: another worker was told so. */
  | { readonly type: 'invalid'; readonly targets: readonly Target[] }
  /** The audit log cannot be written, or can be again. */
  | { readonly type: 'audit'; readonly failing: boolean }
  /** What came of a batch that it had counted. */
  | { readonly type: 'outcomes'; readonly batch: number; readonly outcomes: readonly Outcome[] | null }
  /** A client's connection comes with it; what it is `counted` by, the worker says when it has ended. Null: by nothing. */
  | { readonly type: 'connection'; readonly counted: string | null }
  /** Finish what runs and exit. */
  | { readonly type: 'close'; readonly deadlineMs: number }

export type ToWorker = Start | Ask | Notice

export type ToPrimary =
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
  | { readonly type: 'invalidated'; readonly targets: readonly Target[] }
  /** Take one of a limit for each key: `outcomes` tells what came of it. */
  | { readonly type: 'takes'; readonly batch: number; readonly limit: string; readonly keys: readonly string[] }
  | { readonly type: 'done'; readonly id: number; readonly error: string | null; readonly answer: unknown }

/** Makes a state that can be sent. */
export const plain = ({ config, said, sandboxOrigin }: State): PlainState => ({
  config: { ...config, clients: [] },
  clients: textsOf(config.clients),
  operations: said.operations.all,
  endpoints: said.endpoints.all,
  sandboxOrigin,
})

/** Makes a state of what was sent. Clients that are as in `running` are the very same. */
export const stateOf = async (
  { config, clients, operations, endpoints, sandboxOrigin }: PlainState,
  running: Config['clients'],
): Promise<State> => ({
  config: { ...config, clients: await clientsFrom(clients, running) },
  said: { operations: lookUp(operations), endpoints: lookUp(endpoints) },
  sandboxOrigin,
})

const lookUp = <Key, Name extends string>(all: readonly (readonly [Key, Override<Name>])[]) => {
  const byKey = new Map(all)
  return { all, of: (key: Key): Override<Name> | null => byKey.get(key) ?? null }
}
