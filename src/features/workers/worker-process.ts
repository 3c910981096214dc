import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { epochMs, now } from '../../core/lib/clock.ts'
import { errorMessage } from '../../core/lib/try.ts'
import type { DataPlaneCommands } from '../../core/runtime/runtime-part.ts'
import {
  createPendingCalls,
  type MessageToPrimary,
  type MessageToWorker,
  PeerGoneError,
  type PrimaryCall,
  type PrimaryCallResult,
  type PrimaryNotification,
  type ReplyTimeoutError,
  type WorkerCalls,
  type WorkerInit,
  type WorkerNotification,
} from './messages.ts'

export interface ExitStatus {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface WorkerEvents {
  onReady(worker: WorkerProcess): void
  onConnectionAck(worker: WorkerProcess): void
  /** Called before a connection is handed over. Returns the key of its count; null: not counted. */
  onHandOff(socket: Socket, worker: WorkerProcess): string | null
  onCall(call: PrimaryCall, worker: WorkerProcess): PrimaryCallResult
  onNotification(notification: PrimaryNotification, worker: WorkerProcess): void
  onConnectionReturned(socket: Socket, addressKey: string | null, worker: WorkerProcess): void
  onConnectionsClosed(addressKeys: readonly string[], worker: WorkerProcess): void
  onDisconnect(worker: WorkerProcess): void
  onExit(exitStatus: ExitStatus, worker: WorkerProcess): void
  onOutput(stdout: Readable): void
}

const workerEntry = fileURLToPath(new URL('./worker-main.ts', import.meta.url))

export class WorkerProcess {
  readonly startedAt = epochMs()
  /** Null: unknown, or the worker has not ended. */
  failure: string | null = null
  readonly #spawnedAt = now()
  readonly #events: WorkerEvents
  readonly #hangMs: number
  #isSuspect = false
  /** Connections on their way, with the key of their count. */
  readonly #inHandOff = new Map<Socket, string | null>()
  readonly #child: ChildProcess | null
  readonly #calls = createPendingCalls(() => this.onTimeout())

  /** A worker that misses a timeout and then stays silent for `hangMs` is killed. */
  constructor(start: WorkerInit, events: WorkerEvents, hangMs: number) {
    this.#events = events
    this.#hangMs = hangMs
    const child = this.#spawn()
    this.#child = child
    if (child === null) return
    if (child.stdout) events.onOutput(child.stdout) // null without free descriptors
    child.on('message', (message: MessageToPrimary) => this.#onMessage(message))
    child.on('error', (error) => {
      if (child.pid === undefined) this.#onSpawnError(error)
    })
    for (const event of ['disconnect', 'exit']) child.on(event, () => this.#onDisconnect())
    child.on('close', (code, signal) => this.#onClose({ code, signal }))
    this.send(start)
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** Unlike the number, never used again. */
  get name(): string {
    return String(this.pid)
  }

  get livedMs(): number {
    return now() - this.#spawnedAt
  }

  send(message: MessageToWorker): void {
    if (this.#child?.connected === true) this.#child.send(message, () => {})
  }

  /** Rejects with the error of the reply, {@link PeerGoneError} or {@link ReplyTimeoutError}. */
  async call<Type extends keyof WorkerCalls>(type: Type, params: WorkerCalls[Type]['params'], timeoutMs: number) {
    if (this.#child?.connected !== true) throw new PeerGoneError('is gone')
    const reply = this.#calls.call((id) => this.send({ type, id, ...params } as MessageToWorker), timeoutMs)
    return (await reply) as WorkerCalls[Type]['result']
  }

  async command<Name extends keyof DataPlaneCommands>(
    name: Name,
    params: DataPlaneCommands[Name]['params'],
    timeoutMs: number,
  ) {
    return (await this.call('command', { name, params }, timeoutMs)) as readonly DataPlaneCommands[Name]['result'][]
  }

  /** False: the worker is about to end, and the caller keeps the connection. */
  handOff(socket: Socket): boolean {
    if (this.#child?.connected !== true) return false
    const addressKey = this.#events.onHandOff(socket, this)
    const message: WorkerNotification = { type: 'connection', addressKey }
    this.#inHandOff.set(socket, addressKey)
    // Node does not close the socket if the worker has ended meanwhile, and the client would wait for ever.
    this.#child.send(message, socket, { keepOpen: true }, (error) => {
      if (!this.#inHandOff.delete(socket)) return
      if (error === null) socket.destroy()
      else this.#events.onConnectionReturned(socket, addressKey, this)
    })
    return true
  }

  /** Kills the worker unless it replies in time: a hung worker would make every reload fail. */
  onTimeout(): void {
    if (this.#isSuspect) return
    this.#isSuspect = true
    this.call('report', {}, this.#hangMs).then(
      () => {
        this.#isSuspect = false
        this.#events.onConnectionAck(this) // the connection may have been lost, for want of descriptors
      },
      (error) => error instanceof PeerGoneError || this.kill(`hung: ${error.message}`),
    )
  }

  kill(reason: string): void {
    this.failure ??= reason
    this.#child?.kill('SIGKILL')
  }

  /** Null: `fork` failed, e.g. for want of memory. */
  #spawn(): ChildProcess | null {
    try {
      return fork(workerEntry, [], {
        // Only Node writes to stderr, when it dies.
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
        serialization: 'advanced',
      })
    } catch (error) {
      process.nextTick(() => this.#onSpawnError(error))
      return null
    }
  }

  #onSpawnError(error: unknown): void {
    this.failure = errorMessage(error)
    this.#onClose({ code: null, signal: null })
  }

  #onMessage(message: MessageToPrimary): void {
    if (message.type === 'serving') this.#events.onReady(this)
    else if (message.type === 'adopted') this.#events.onConnectionAck(this)
    else if (message.type === 'closed') this.#events.onConnectionsClosed(message.addressKeys, this)
    else if (message.type === 'failed') this.failure = message.message
    else if (message.type === 'done') this.#calls.settle(message.id, message.error, message.result)
    else if ('id' in message) this.send({ type: 'reply', to: message.id, result: this.#events.onCall(message, this) })
    else this.#events.onNotification(message, this)
  }

  #onDisconnect(): void {
    this.#calls.rejectAll()
    // When the channel closes, Node does not report the connections that wait to be sent. They are returned before
    // `onDisconnect`, which ends the worker's counts.
    const waiting = [...this.#inHandOff]
    this.#inHandOff.clear()
    for (const [socket, addressKey] of waiting) this.#events.onConnectionReturned(socket, addressKey, this)
    this.#events.onDisconnect(this)
  }

  #onClose(exitStatus: ExitStatus): void {
    this.#onDisconnect()
    this.#events.onExit(exitStatus, this)
  }
}
