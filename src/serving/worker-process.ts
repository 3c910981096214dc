import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { now, wallClock } from '../clock.ts'
import type { Target } from '../layers/cache/invalidate.ts'
import type { Outcome } from '../shared/limiter/bucket.ts'
import type { PlaneCommands } from '../snapshot/commands.ts'
import type { Answer, Notice, Question, Start, ToPrimary, ToWorker } from './protocol.ts'
import { Gone, Questions } from './questions.ts'

/** Is how a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Hears of workers; the one that it is about comes last. */
export interface WorkerEvents {
  /** It waits for connections. */
  serving(worker: WorkerProcess): void
  /** It has taken the connection that it was handed. */
  taken(worker: WorkerProcess): void
  /** It is about to be handed a connection; tells what that is counted by, null: by nothing. */
  handed(socket: Socket, worker: WorkerProcess): string | null
  /** It takes one of a limit for each key; null: that limit is not known here. */
  takeAll(limit: string, keys: readonly string[]): readonly Outcome[] | null
  /** It has lines of the audit log written, and has lost so many. */
  audited(lines: readonly string[], lost: number): void
  /** These have become invalid in all. */
  invalidated(targets: readonly Target[], by: WorkerProcess): void
  /** It could not be handed that connection. */
  returned(socket: Socket, counted: string | null, worker: WorkerProcess): void
  /** Connections that were counted by these have ended. */
  left(counted: readonly string[], worker: WorkerProcess): void
  /** It takes no more connections: it has left, or is about to end. */
  gone(worker: WorkerProcess): void
  /** It has ended, and all that it wrote has been read. */
  ended(end: End, worker: WorkerProcess): void
  /** Takes what it writes to stdout. */
  output(stdout: Readable): void
}

const entry = fileURLToPath(new URL('worker.ts', import.meta.url))

/** Is a process that serves clients, as the primary sees it. */
export class WorkerProcess {
  readonly startedAt = wallClock()
  /** Why it ended, as far as that is known; null: it did so of itself, or not at all. */
  failure: string | null = null
  readonly #since = now()
  readonly #events: WorkerEvents
  readonly #hangMs: number
  #isInDoubt = false
  /** Connections that wait to be sent, and what each is counted by. */
  readonly #handing = new Map<Socket, string | null>()
  readonly #child: ChildProcess | null
  readonly #questions = new Questions(() => this.doubt())

  /** Starts it. Whatever it is sent next arrives in that order. It is killed when it is in doubt and then silent for `hangMs`. */
  constructor(start: Start, events: WorkerEvents, hangMs: number) {
    this.#events = events
    this.#hangMs = hangMs
    const child = this.#fork()
    this.#child = child
    if (child === null) return
    if (child.stdout) events.output(child.stdout) // not even that is there when descriptors have run out
    child.on('message', (message: ToPrimary) => this.#receive(message))
    child.on('error', (error) => {
      if (child.pid === undefined) this.#notStarted(error)
    })
    for (const event of ['disconnect', 'exit']) child.on(event, () => this.#gone())
    child.on('close', (code, signal) => this.#end({ code, signal }))
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
  send(message: Start | Notice): void {
    this.#send(message)
  }

  /** Asks it something. Rejects with what it says, with {@link Gone}, or when it has not answered in time. */
  async ask<Type extends keyof Question>(
    type: Type,
    question: Question[Type],
    withinMs: number,
  ): Promise<Answer[Type]> {
    if (this.#child?.connected !== true) throw new Gone('is gone')
    const answer = this.#questions.ask((id) => this.#send({ type, id, ...question } as ToWorker), withinMs)
    return (await answer) as Answer[Type]
  }

  /** Has it carry out an operator's command. Rejects as `ask` does. */
  async command<Name extends keyof PlaneCommands>(
    name: Name,
    what: PlaneCommands[Name]['takes'],
    withinMs: number,
  ): Promise<PlaneCommands[Name]['gives']> {
    return (await this.ask('command', { name, what }, withinMs)) as PlaneCommands[Name]['gives']
  }

  /**
   * Hands it a client's connection, which is its own from now on: when it ends, the connection is closed. False: it is just going, and
   * the connection is whose it was.
   */
  hand(socket: Socket): boolean {
    if (this.#child?.connected !== true) return false
    const counted = this.#events.handed(socket, this)
    const message: Notice = { type: 'connection', counted }
    this.#handing.set(socket, counted)
    // Kept open until it is sent, and closed here and not by Node, which forgets it when the other end has gone meanwhile: the client
    // would wait for ever.
    this.#child.send(message, socket, { keepOpen: true }, (error) => {
      if (!this.#handing.delete(socket)) return // it has been given back
      if (error === null) socket.destroy()
      else this.#events.returned(socket, counted, this)
    })
    return true
  }

  /** Kills it unless it gives a sign of life in time: one that hangs serves nobody, and would have every reload refused. */
  doubt(): void {
    if (this.#isInDoubt) return
    this.#isInDoubt = true
    this.ask('report', {}, this.#hangMs).then(
      () => {
        this.#isInDoubt = false
        this.#events.taken(this) // or the connection was lost on its way, for want of descriptors
      },
      (error) => error instanceof Gone || this.kill(`hung: ${error.message}`),
    )
  }

  /** Ends it at once, and keeps the reason. */
  kill(reason: string): void {
    this.failure ??= reason
    this.#child?.kill('SIGKILL')
  }

  /** Null: it could not even be tried, for want of memory, say. */
  #fork(): ChildProcess | null {
    try {
      return fork(entry, [], {
        // Standard error is shared: nothing but Node itself writes there, when it dies.
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
        serialization: 'advanced',
      })
    } catch (error) {
      process.nextTick(() => this.#notStarted(error))
      return null
    }
  }

  #notStarted(error: unknown): void {
    this.failure = error instanceof Error ? error.message : String(error)
    this.#end({ code: null, signal: null })
  }

  #send(message: ToWorker): void {
    if (this.#child?.connected === true) this.#child.send(message, () => {})
  }

  #receive(message: ToPrimary): void {
    if (message.type === 'serving') this.#events.serving(this)
    else if (message.type === 'taken') this.#events.taken(this)
    else if (message.type === 'left') this.#events.left(message.counted, this)
    else if (message.type === 'audited') this.#events.audited(message.lines, message.lost)
    else if (message.type === 'invalidated') this.#events.invalidated(message.targets, this)
    else if (message.type === 'takes') {
      const { batch, limit, keys } = message
      this.#send({ type: 'outcomes', batch, outcomes: this.#events.takeAll(limit, keys) })
    } else if (message.type === 'failed') this.failure = message.message
    else this.#questions.answered(message.id, message.error, message.answer)
  }

  #gone(): void {
    this.#questions.end()
    // Node sends one connection at a time, and tells nothing of those that wait behind it when the channel closes. They go back before
    // the worker has gone: with it goes the count of all that are its own.
    const waiting = [...this.#handing]
    this.#handing.clear()
    for (const [socket, counted] of waiting) this.#events.returned(socket, counted, this)
    this.#events.gone(this)
  }

  #end(end: End): void {
    this.#gone()
    this.#events.ended(end, this)
  }
}
