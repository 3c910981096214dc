import type { Config } from '../../core/config/config.ts'
import { type PackedConfig, packConfig, unpackConfig } from '../../core/config/transfer-parts.ts'
import { formatDuration } from '../../core/lib/text/units.ts'
import type { FeatureMessage, ProcessPlace } from '../../core/runtime/channel.ts'
import type { OverridesView } from '../../core/runtime/overrides.ts'
import type { DataPlaneCommands, SnapshotInput } from '../../core/runtime/runtime-part.ts'
import type { StatusReport } from '../../core/runtime/status/report.ts'
import type { HealthVerdict } from '../../core/upstream/endpoints/endpoint-registry.ts'

/** The called process has ended or is about to. No reason to reject a change: the successor starts with it. */
export class PeerGoneError extends Error {}

/** The called process has not replied in time. It may still run the call later. */
export class ReplyTimeoutError extends Error {}

interface PendingCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

export class PendingCalls {
  readonly #onTimeout: () => void
  readonly #pending = new Map<number, PendingCall>()
  #lastId = 0

  constructor(onTimeout = () => {}) {
    this.#onTimeout = onTimeout
  }

  /**
   * Rejects with the error of the reply, {@link ReplyTimeoutError} or {@link PeerGoneError}. `timeoutMs` null: the
   * caller sets the timeout.
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

  /** A late reply settles nothing. */
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
  /** The successor has the same number. */
  readonly worker: number
  readonly place: Pick<ProcessPlace, 'workers' | 'answerMs' | 'saveEveryMs'>
  readonly state: SerializedSnapshotInput
  readonly verdicts: readonly HealthVerdict[]
  /** The messages of the primary's features to a new worker. */
  readonly handedOver: readonly FeatureMessage[]
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  /** The secret of TLS session tickets, shared so that a client resumes with any worker. */
  readonly ticketSecret: string
  /** The key of digests of learned names and compared values, the same in all workers. */
  readonly digestKey: string
  readonly draining: boolean
  /** The primary renders lines for a terminal, so the worker writes pino's format. */
  readonly logsToTerminal: boolean
}

/**
 * The calls of the primary. A worker replies to each with `done` and the same `id`. Messages arrive in the order of
 * sending, so a worker runs the last state sent.
 */
export type WorkerCallParams = {
  /** Does every step that can fail before the state takes effect. */
  readonly prepare: { readonly prepared: number; readonly state: SerializedSnapshotInput }
  /** `verdicts` is complete. */
  readonly commit: { readonly prepared: number; readonly verdicts: readonly HealthVerdict[] }
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

export type WorkerNotification =
  | { readonly type: 'discard'; readonly prepared: number }
  | { readonly type: 'verdict'; readonly verdict: HealthVerdict }
  | { readonly type: 'drain' }
  | { readonly type: 'told'; readonly message: FeatureMessage }
  /** `to`: the id of the worker's {@link PrimaryCall}. */
  | { readonly type: 'reply'; readonly to: number; readonly result: PrimaryCallResult }
  /**
   * A client's connection comes with the message, to be served in the state committed before. The worker sends
   * `addressKey` back when the connection has ended. Null: it is not counted.
   */
  | { readonly type: 'connection'; readonly addressKey: string | null }
  | { readonly type: 'close'; readonly deadlineMs: number }

export type MessageToWorker = WorkerInit | WorkerCall | WorkerNotification

/** The calls of a worker, which the primary answers with `reply`. */
export type PrimaryCalls = {
  readonly ask: { readonly params: { readonly message: FeatureMessage }; readonly result: unknown }
  /**
   * Counts a connection by its client's address. Results in the key that it is counted by. Null: not counted. False:
   * the address has too many connections.
   */
  readonly countConnection: { readonly params: { readonly address: string }; readonly result: string | null | false }
}

export type PrimaryCall = {
  readonly [Type in keyof PrimaryCalls]: { readonly type: Type; readonly id: number } & PrimaryCalls[Type]['params']
}[keyof PrimaryCalls]

export type PrimaryCallResult = PrimaryCalls[keyof PrimaryCalls]['result']

export type PrimaryNotification = { readonly type: 'told'; readonly message: FeatureMessage }

export type MessageToPrimary =
  | PrimaryCall
  | PrimaryNotification
  | { readonly type: 'serving' }
  | { readonly type: 'failed'; readonly message: string }
  /** The worker takes the next connection. */
  | { readonly type: 'adopted' }
  /** Connections counted by these keys have ended. */
  | { readonly type: 'closed'; readonly addressKeys: readonly string[] }
  | { readonly type: 'done'; readonly id: number; readonly error: string | null; readonly result: unknown }

export interface SerializedSnapshotInput extends PackedConfig {
  /** By kind. */
  readonly overrides: Readonly<Record<string, readonly (readonly [string, unknown])[]>>
  readonly sandboxOrigin: string | null
}

export const serializeInput = ({ config, overrides, sandboxOrigin }: SnapshotInput): SerializedSnapshotInput => ({
  ...packConfig({ ...config, admin: withoutCredentials(config.admin) }, 'worker'),
  overrides: Object.fromEntries(Object.entries(overrides).map(([kind, { all }]) => [kind, all])),
  sandboxOrigin,
})

/** Removes the credentials of the admin listener: only the primary talks to operators. */
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
