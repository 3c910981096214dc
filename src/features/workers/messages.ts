import type { Config } from '../../core/config/config.ts'
import { type PackedConfig, packConfig, unpackConfig } from '../../core/config/transfer-parts.ts'
import { formatDuration } from '../../core/lib/text/units.ts'
import type { FeatureMessage, ProcessPlace } from '../../core/runtime/channel.ts'
import type { OverridesView } from '../../core/runtime/overrides.ts'
import type { DataPlaneCommands, SnapshotInput } from '../../core/runtime/runtime-part.ts'
import type { StatusReport } from '../../core/runtime/status/report.ts'
import type { HealthVerdict } from '../../core/upstream/endpoints/endpoint-registry.ts'

/**
 * The error that the called process has ended, or is about to. It is no reason to reject a change, because a successor
 * will get it.
 */
export class PeerGoneError extends Error {}

/** The error that the called process has not replied in time. It may run the call all the same, later. */
export class ReplyTimeoutError extends Error {}

interface PendingCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** The calls that another process has not replied to yet. */
export class PendingCalls {
  readonly #onTimeout: () => void
  readonly #pending = new Map<number, PendingCall>()
  #lastId = 0

  /** `onTimeout` is called for each call without a reply in time. */
  constructor(onTimeout = () => {}) {
    this.#onTimeout = onTimeout
  }

  /**
   * Calls with `send`, which gets a number for the reply. Rejects with the error that is replied, with
   * {@link ReplyTimeoutError} or with {@link PeerGoneError}. `timeoutMs` null: the caller decides how long it waits.
   */
  call(send: (id: number) => void, timeoutMs: number | null): Promise<unknown> {
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer =
      timeoutMs === null
        ? undefined
        : setTimeout(() => {
            reject(new ReplyTimeoutError(`did not answer within ${formatDuration(timeoutMs)}`))
            this.#onTimeout()
          }, timeoutMs)
    this.#pending.set(id, { resolve, reject })
    send(id)
    return promise.finally(() => {
      clearTimeout(timer)
      this.#pending.delete(id)
    })
  }

  /** Settles a call. A reply that comes too late settles nothing. */
  settle(id: number, error: string | null, result: unknown): void {
    const call = this.#pending.get(id)
    if (error === null) call?.resolve(result)
    else call?.reject(new Error(error))
  }

  rejectAll(): void {
    for (const { reject } of this.#pending.values()) reject(new PeerGoneError('is gone'))
  }
}

export interface WorkerInit {
  readonly type: 'start'
  /** Counted from 1. Its successor has the same number. */
  readonly worker: number
  readonly place: Pick<ProcessPlace, 'workers' | 'answerMs' | 'saveEveryMs'>
  readonly state: SerializedSnapshotInput
  readonly verdicts: readonly HealthVerdict[]
  /** What features of the primary tell a worker that starts. */
  readonly handedOver: readonly FeatureMessage[]
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  /** The secret of TLS session tickets: one for all workers, so that a client resumes with any of them. */
  readonly ticketSecret: string
  /** What names that are learnt and values that are compared are hashed with: one key for all workers. */
  readonly digestKey: string
  readonly draining: boolean
  /** Whether the primary renders lines for a terminal: it takes them as pino writes them. */
  readonly logsToTerminal: boolean
}

/**
 * The calls of the primary. A worker replies to each with `done` and the same `id`. Messages arrive in the order in
 * which they were sent: a worker runs the last state that it was sent.
 */
export type WorkerCallParams = {
  /** Do everything that can fail before the state takes effect. */
  readonly prepare: { readonly prepared: number; readonly state: SerializedSnapshotInput }
  /** Put into effect what was prepared under that number. The verdicts are complete. */
  readonly commit: { readonly prepared: number; readonly verdicts: readonly HealthVerdict[] }
  /** Run an operator's command. */
  readonly command: {
    readonly name: keyof DataPlaneCommands
    readonly params: DataPlaneCommands[keyof DataPlaneCommands]['params']
  }
  readonly report: object
}

export type WorkerCallResults = {
  readonly prepare: undefined
  readonly commit: undefined
  readonly command: DataPlaneCommands[keyof DataPlaneCommands]['result']
  readonly report: {
    readonly report: StatusReport
    readonly droppedLines: number
    readonly config: string
  }
}

export type WorkerCall = {
  readonly [Type in keyof WorkerCallParams]: { readonly type: Type; readonly id: number } & WorkerCallParams[Type]
}[keyof WorkerCallParams]

/** The messages that a worker does not reply to. */
export type WorkerNotification =
  | { readonly type: 'discard'; readonly prepared: number }
  | { readonly type: 'verdict'; readonly verdict: HealthVerdict }
  | { readonly type: 'drain' }
  /** What a feature of the primary tells itself here. */
  | { readonly type: 'told'; readonly message: FeatureMessage }
  /** The result of a {@link PrimaryCall} of the worker, by its number. */
  | { readonly type: 'reply'; readonly to: number; readonly result: PrimaryCallResult }
  /**
   * A client's connection comes with it, to be served in the state that was committed before. The worker sends
   * `addressKey` back when the connection has ended. Null: it is not counted.
   */
  | { readonly type: 'connection'; readonly addressKey: string | null }
  /** Finish what runs and exit. */
  | { readonly type: 'close'; readonly deadlineMs: number }

export type MessageToWorker = WorkerInit | WorkerCall | WorkerNotification

/** The calls of a worker, which the primary replies to with `reply`: their members, and their results. */
export type PrimaryCalls = {
  /** What a feature asks itself in the primary. */
  readonly ask: { readonly params: { readonly message: FeatureMessage }; readonly result: unknown }
  /**
   * Count a connection by the address of its client. Returns the key that it is counted by. Null: by none. False: its
   * address may have no more.
   */
  readonly countConnection: { readonly params: { readonly address: string }; readonly result: string | null | false }
}

export type PrimaryCall = {
  readonly [Type in keyof PrimaryCalls]: { readonly type: Type; readonly id: number } & PrimaryCalls[Type]['params']
}[keyof PrimaryCalls]

export type PrimaryCallResult = PrimaryCalls[keyof PrimaryCalls]['result']

/** What a worker says that concerns the primary, or other workers. There is no reply. */
export type PrimaryNotification =
  /** What a feature tells itself in the primary. */
  { readonly type: 'told'; readonly message: FeatureMessage }

export type MessageToPrimary =
  | PrimaryCall
  | PrimaryNotification
  /** The worker waits for connections. */
  | { readonly type: 'serving' }
  /** It cannot start, and exits. */
  | { readonly type: 'failed'; readonly message: string }
  /** It has adopted the connection, and may be given the next. */
  | { readonly type: 'adopted' }
  /** Connections that were counted by these keys have ended. */
  | { readonly type: 'closed'; readonly addressKeys: readonly string[] }
  | { readonly type: 'done'; readonly id: number; readonly error: string | null; readonly result: unknown }

/** A {@link SnapshotInput} that can be sent to another process: plain data. */
export interface SerializedSnapshotInput extends PackedConfig {
  /** The overrides of each kind. */
  readonly overrides: Readonly<Record<string, readonly (readonly [string, unknown])[]>>
  readonly sandboxOrigin: string | null
}

export const serializeInput = ({ config, overrides, sandboxOrigin }: SnapshotInput): SerializedSnapshotInput => ({
  ...packConfig({ ...config, admin: withoutCredentials(config.admin) }, 'worker'),
  overrides: Object.fromEntries(Object.entries(overrides).map(([kind, { all }]) => [kind, all])),
  sandboxOrigin,
})

/** Leaves out what opens the admin listener: workers speak with clients, and the primary alone with operators. */
const withoutCredentials = (admin: Config['admin']): Config['admin'] => ({
  ...admin,
  token: null,
  metricsToken: null,
  tokens: [],
  tls: null,
})

export const deserializeInput = async (
  { config, packed, overrides, sandboxOrigin }: SerializedSnapshotInput,
  running: Config | null,
): Promise<SnapshotInput> => ({
  config: await unpackConfig({ config, packed }, running),
  overrides: Object.fromEntries(
    Object.entries(overrides).map(([kind, all]) => [kind, toLookup(all)]),
  ) as unknown as OverridesView,
  sandboxOrigin,
})

const toLookup = <Key, Value>(all: readonly (readonly [Key, Value])[]) => {
  const byKey = new Map(all)
  return { all, get: (key: Key): Value | null => byKey.get(key) ?? null }
}
