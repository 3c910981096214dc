import type { Config } from '../../core/config/config.ts'
import { type PackedConfig, packConfig, unpackConfig } from '../../core/config/transfer-parts.ts'
import { formatDuration } from '../../core/lib/text/units.ts'
import type { FeatureMessage, ProcessPlace } from '../../core/runtime/channel.ts'
import type { OverridesView } from '../../core/runtime/overrides.ts'
import type { DataPlaneCommands, SnapshotInput } from '../../core/runtime/runtime-part.ts'
import type { StatusReport } from '../../core/runtime/status/status-part.ts'
import type { HealthVerdict } from '../../core/upstream/endpoints/endpoint-registry.ts'

/** The called process has ended or is about to. A change goes on: the successor starts with it. */
export class PeerGoneError extends Error {}

/** The called process may still run the call later. */
export class ReplyTimeoutError extends Error {}

export const createPendingCalls = (onTimeout = () => {}) => {
  const pending = new Map<number, Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'>>()
  let lastId = 0
  return {
    /** Rejects with the reply's error, {@link ReplyTimeoutError} or {@link PeerGoneError}. */
    call(send: (id: number) => void, timeoutMs: number | null): Promise<unknown> {
      const id = ++lastId
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const startTimer = (ms: number) =>
        setTimeout(() => {
          reject(new ReplyTimeoutError(`did not reply within ${formatDuration(ms)}`))
          onTimeout()
        }, ms)
      const timer = timeoutMs === null ? undefined : startTimer(timeoutMs)
      pending.set(id, { resolve, reject })
      send(id)
      return promise.finally(() => {
        clearTimeout(timer)
        pending.delete(id)
      })
    },
    settle(id: number, error: string | null, result: unknown): void {
      if (error === null) pending.get(id)?.resolve(result)
      else pending.get(id)?.reject(new Error(error))
    },
    rejectAll(): void {
      for (const { reject } of pending.values()) reject(new PeerGoneError('is gone'))
    },
  }
}

export interface WorkerInit {
  readonly type: 'start'
  readonly worker: number
  readonly place: Pick<ProcessPlace, 'workers' | 'primaryReplyMs' | 'saveEveryMs'>
  readonly state: SerializedSnapshotInput
  readonly verdicts: readonly HealthVerdict[]
  readonly handedOver: readonly FeatureMessage[]
  readonly pseudonym: string
  /** Of TLS session tickets: a client resumes with any worker. */
  readonly ticketSecret: string
  /** Of digests of learned names and compared values, equal in all workers. */
  readonly digestKey: string
  readonly draining: boolean
  /** The primary renders lines, so the worker writes pino's format. */
  readonly logsToTerminal: boolean
}

interface Call<Params, Result> {
  readonly params: Params
  readonly result: Result
}

type CallMessage<Calls extends { readonly [Type in keyof Calls]: Call<unknown, unknown> }> = {
  readonly [Type in keyof Calls]: { readonly type: Type; readonly id: number } & Calls[Type]['params']
}[keyof Calls]

/**
 * The calls of the primary, to which a worker sends `done`. Messages keep their order, so a worker runs the state that
 * was sent last.
 */
export type WorkerCalls = {
  /** Does every step that can fail before the state takes effect. */
  readonly prepare: Call<{ readonly prepared: number; readonly state: SerializedSnapshotInput }, undefined>
  readonly commit: Call<{ readonly prepared: number; readonly verdicts: readonly HealthVerdict[] }, undefined>
  readonly command: Call<
    { readonly name: keyof DataPlaneCommands; readonly params: DataPlaneCommands[keyof DataPlaneCommands]['params'] },
    readonly DataPlaneCommands[keyof DataPlaneCommands]['result'][]
  >
  readonly report: Call<object, WorkerReport>
}

export interface WorkerReport {
  readonly report: StatusReport
  readonly droppedLines: number
  readonly config: string
}

export type WorkerCall = CallMessage<WorkerCalls>

export type WorkerNotification =
  | { readonly type: 'discard'; readonly prepared: number }
  | { readonly type: 'verdict'; readonly verdict: HealthVerdict }
  | { readonly type: 'drain' }
  | { readonly type: 'notification'; readonly message: FeatureMessage }
  | { readonly type: 'reply'; readonly to: number; readonly result: PrimaryCallResult }
  /**
   * Carries a client's connection, for the state committed before. The worker sends `addressKey` back at its end; null:
   * not counted.
   */
  | { readonly type: 'connection'; readonly addressKey: string | null }
  | { readonly type: 'close'; readonly deadlineMs: number }

export type MessageToWorker = WorkerInit | WorkerCall | WorkerNotification

/** The calls of a worker, to which the primary sends a `reply`. */
export type PrimaryCalls = {
  readonly ask: Call<{ readonly message: FeatureMessage }, unknown>
  /** Null: not counted. False: the address has too many connections. */
  readonly countConnection: Call<{ readonly address: string }, string | null | false>
}

export type PrimaryCall = CallMessage<PrimaryCalls>
export type PrimaryCallResult = PrimaryCalls[keyof PrimaryCalls]['result']

export type PrimaryNotification = { readonly type: 'notification'; readonly message: FeatureMessage }

export type MessageToPrimary =
  | PrimaryCall
  | PrimaryNotification
  | { readonly type: 'serving' }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'adopted' }
  | { readonly type: 'closed'; readonly addressKeys: readonly string[] }
  | { readonly type: 'done'; readonly id: number; readonly error: string | null; readonly result: unknown }

export interface SerializedSnapshotInput extends PackedConfig {
  readonly overrides: Readonly<Record<string, readonly (readonly [string, unknown])[]>>
  readonly sandboxOrigin: string | null
}

// Workers get no credentials of operators.
const noCredentials = { token: null, metricsToken: null, tokens: [], tls: null }

export const serializeInput = ({ config, overrides, sandboxOrigin }: SnapshotInput): SerializedSnapshotInput => ({
  ...packConfig({ ...config, admin: { ...config.admin, ...noCredentials } }, 'worker'),
  overrides: Object.fromEntries(Object.entries(overrides).map(([kind, { all }]) => [kind, all])),
  sandboxOrigin,
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
