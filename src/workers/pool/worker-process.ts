import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { epochMs, now } from '../../clock.ts'
import type { InvalidationTarget } from '../../layers/cache/invalidation.ts'
import type { DataPlaneCommands } from '../../runtime/snapshot/data-plane-commands.ts'
import type { ConsumeResult } from '../../shared/rate-limiter/token-bucket.ts'
import type {
  MessageToPrimary,
  MessageToWorker,
  WorkerCallParams,
  WorkerCallResults,
  WorkerInit,
  WorkerNotification,
} from '../ipc/messages.ts'
import { PeerGoneError, PendingCalls } from '../ipc/rpc.ts'

/** Is how a process ended. */
export interface ExitStatus {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Hears of workers; the one that it is about comes last. */
export interface WorkerEvents {
  /** It waits for connections. */
  onReady(worker: WorkerProcess): void
  /** It has taken the connection that it was handed. */
  onConnectionAck(worker: WorkerProcess): void
  /** It is about to be handed a connection; tells what that is counted by, null: by nothing. */
  onHandOff(socket: Socket, worker: WorkerProcess): string | null
  /** It takes one of a limit for each key; null: that limit is not known here. */
  onConsume(limit: string, keys: readonly string[]): readonly ConsumeResult[] | null
  /** It has lines of the audit log written, and has lost so many. */
  onAuditLines(lines: readonly string[], lost: number): void
  /** These have become invalid in all. */
  onInvalidated(targets: readonly InvalidationTarget[], by: WorkerProcess): void
  /** It could not be handed that connection. */
  onConnectionReturned(socket: Socket, counted: string | null, worker: WorkerProcess): void
  /** Connections that were counted by these have ended. */
  onConnectionsClosed(counted: readonly string[], worker: WorkerProcess): void
  /** It takes no more connections: it has left, or is about to end. */
  onDisconnect(worker: WorkerProcess): void
  /** It has ended, and all that it wrote has been read. */
  onExit(end: ExitStatus, worker: WorkerProcess): void
  /** Takes what it writes to stdout. */
  onOutput(stdout: Readable): void
}

const workerEntry = fileURLToPath(new URL('../child/worker-main.ts', import.meta.url))

/** Is a process that serves clients, as the primary sees it. */
export class WorkerProcess {
  readonly startedAt = epochMs()
  /** Why it ended, as far as that is known; null: it did so of itself, or not at all. */
  failure: string | null = null
  readonly #since = now()
  readonly #events: WorkerEvents
  readonly #hangMs: number
  #isSuspect = false
  /** Connections that wait to be sent, and what each is counted by. */
  readonly #inHandOff = new Map<Socket, string | null>()
  readonly #child: ChildProcess | null
  readonly #calls = new PendingCalls(() => this.onTimeout())

  /** Starts it. Whatever it is sent next arrives in that order. It is killed when it is in doubt and then silent for `hangMs`. */
  constructor(start: WorkerInit, events: WorkerEvents, hangMs: number) {
    this.#events = events
    this.#hangMs = hangMs
    const child = this.#spawn()
    this.#child = child
    if (child === null) return
    if (child.stdout) events.onOutput(child.stdout) // not even that is there when descriptors have run out
    child.on('message', (message: MessageToPrimary) => this.#onMessage(message))
    child.on('error', (error) => {
      if (child.pid === undefined) this.#onSpawnError(error)
    })
    for (const event of ['disconnect', 'exit']) child.on(event, () => this.#onDisconnect())
    child.on('close', (code, signal) => this.#onClose({ code, signal }))
    this.#send(start)
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** Tells how long ago it was started, in ms. */
  get livedMs(): number {
    return now() - this.#since
  }

  /** Tells it something. Nobody hears when it is gone. */
  send(message: WorkerInit | WorkerNotification): void {
    this.#send(message)
  }

  /** Asks it something. Rejects with what it says, with {@link PeerGoneError}, or when it has not answered in time. */
  async call<Type extends keyof WorkerCallParams>(
    type: Type,
    params: WorkerCallParams[Type],
    timeoutMs: number,
  ): Promise<WorkerCallResults[Type]> {
    if (this.#child?.connected !== true) throw new PeerGoneError('is gone')
    const answer = this.#calls.call((id) => this.#send({ type, id, ...params } as MessageToWorker), timeoutMs)
    return (await answer) as WorkerCallResults[Type]
  }

  /** Has it carry out an operator's command. Rejects as `ask` does. */
  async command<Name extends keyof DataPlaneCommands>(
    name: Name,
    what: DataPlaneCommands[Name]['takes'],
    timeoutMs: number,
  ): Promise<DataPlaneCommands[Name]['gives']> {
    return (await this.call('command', { name, what }, timeoutMs)) as DataPlaneCommands[Name]['gives']
  }

  /**
   * Hands it a client's connection, which is its own from now on: when it ends, the connection is closed. False: it is just going, and
   * the connection is whose it was.
   */
  handOff(socket: Socket): boolean {
    if (this.#child?.connected !== true) return false
    const counted = this.#events.onHandOff(socket, this)
    const message: WorkerNotification = { type: 'connection', counted }
    this.#inHandOff.set(socket, counted)
    // Kept open until it is sent, and closed here and not by Node, which forgets it when the other end has gone meanwhile: the client
    // would wait for ever.
    this.#child.send(message, socket, { keepOpen: true }, (error) => {
      if (!this.#inHandOff.delete(socket)) return // it has been given back
      if (error === null) socket.destroy()
      else this.#events.onConnectionReturned(socket, counted, this)
    })
    return true
  }

  /** Kills it unless it gives a sign of life in time: one that hangs serves nobody, and would have every reload refused. */
  onTimeout(): void {
    if (this.#isSuspect) return
    this.#isSuspect = true
    this.call('report', {}, this.#hangMs).then(
      () => {
        this.#isSuspect = false
        this.#events.onConnectionAck(this) // or the connection was lost on its way, for want of descriptors
      },
      (error) => error instanceof PeerGoneError || this.kill(`hung: ${error.message}`),
    )
  }

  /** Ends it at once, and keeps the reason. */
  kill(reason: string): void {
    this.failure ??= reason
    this.#child?.kill('SIGKILL')
  }

  /** Null: it could not even be tried, for want of memory, say. */
  #spawn(): ChildProcess | null {
    try {
      return fork(workerEntry, [], {
        // Standard error is shared: nothing but Node itself writes there, when it dies.
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
        serialization: 'advanced',
      })
    } catch (error) {
      process.nextTick(() => this.#onSpawnError(error))
      return null
    }
  }

  #onSpawnError(error: unknown): void {
    this.failure = error instanceof Error ? error.message : String(error)
    this.#onClose({ code: null, signal: null })
  }

  #send(message: MessageToWorker): void {
    if (this.#child?.connected === true) this.#child.send(message, () => {})
  }

  #onMessage(message: MessageToPrimary): void {
    if (message.type === 'serving') this.#events.onReady(this)
    else if (message.type === 'taken') this.#events.onConnectionAck(this)
    else if (message.type === 'left') this.#events.onConnectionsClosed(message.counted, this)
    else if (message.type === 'audited') this.#events.onAuditLines(message.lines, message.lost)
    else if (message.type === 'invalidated') this.#events.onInvalidated(message.targets, this)
    else if (message.type === 'takes') {
      const { batch, limit, keys } = message
      this.#send({ type: 'outcomes', batch, outcomes: this.#events.onConsume(limit, keys) })
    } else if (message.type === 'failed') this.failure = message.message
    else this.#calls.settle(message.id, message.error, message.result)
  }

  #onDisconnect(): void {
    this.#calls.rejectAll()
    // Node sends one connection at a time, and tells nothing of those that wait behind it when the channel closes. They go back before
    // the worker has gone: with it goes the count of all that are its own.
    const waiting = [...this.#inHandOff]
    this.#inHandOff.clear()
    for (const [socket, counted] of waiting) this.#events.onConnectionReturned(socket, counted, this)
    this.#events.onDisconnect(this)
  }

  #onClose(end: ExitStatus): void {
    this.#onDisconnect()
    this.#events.onExit(end, this)
  }
}
