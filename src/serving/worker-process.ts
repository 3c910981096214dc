import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { now, wallClock } from '../clock.ts'
import { formatDuration } from '../units.ts'
import type { Answer, Notice, Question, Start, ToPrimary, ToWorker } from './protocol.ts'

/** Is how a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Hears of a worker. */
export interface Hearing {
  /** It waits for connections. */
  serving(): void
  /** It has taken the connection that it was handed. */
  taken(): void
  /** It could not be handed that connection. */
  returned(socket: Socket): void
  /** It takes nothing any more. */
  gone(): void
  /** It has ended, and all that it wrote has been read. */
  ended(end: End): void
  /** Takes what it writes to stdout. */
  output(stdout: Readable): void
}

/** Says that a worker is gone, or going: it is no reason to refuse anything, because its successor will be told. */
export class Gone extends Error {}

interface Asked {
  resolve(answer: unknown): void
  reject(error: Error): void
}

const entry = fileURLToPath(new URL('worker.ts', import.meta.url))

/** Is a process that serves clients, as the primary sees it. */
export class WorkerProcess {
  readonly startedAt = wallClock()
  /** Why it ended, as far as that is known; null: it did so of itself, or not at all. */
  failure: string | null = null
  readonly #since = now()
  readonly #hearing: Hearing
  readonly #hangMs: number
  #isInDoubt = false
  readonly #child: ChildProcess
  readonly #asked = new Map<number, Asked>()
  #lastId = 0

  /** Starts it. Whatever it is sent next arrives in that order. It is killed when it is in doubt and then silent for `hangMs`. */
  constructor(start: Start, hearing: Hearing, hangMs: number) {
    this.#hearing = hearing
    this.#hangMs = hangMs
    this.#child = fork(entry, [], {
      // Standard error is shared: nothing but Node itself writes there, when it dies.
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    if (this.#child.stdout !== null) hearing.output(this.#child.stdout)
    this.#child.on('message', (message: ToPrimary) => this.#receive(message))
    // It could not be started, told or killed: the end is what counts, and comes apart.
    this.#child.on('error', (error) => {
      if (this.#child.pid !== undefined) return
      this.failure = error.message
      this.#end({ code: null, signal: null })
    })
    for (const event of ['disconnect', 'exit']) this.#child.on(event, () => this.#gone())
    this.#child.on('close', (code, signal) => this.#end({ code, signal }))
    this.send(start)
  }

  get pid(): number | null {
    return this.#child.pid ?? null
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
  ask<Type extends keyof Question>(type: Type, question: Question[Type], withinMs: number): Promise<Answer[Type]> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      const timer = setTimeout(() => {
        settle(() => reject(new Error(`did not answer within ${formatDuration(withinMs)}`)))
        this.doubt()
      }, withinMs)
      const settle = (then: () => void): void => {
        clearTimeout(timer)
        this.#asked.delete(id)
        then()
      }
      this.#asked.set(id, {
        resolve: (answer) => settle(() => resolve(answer as Answer[Type])),
        reject: (error) => settle(() => reject(error)),
      })
      if (!this.#child.connected) return this.#forget()
      this.#send({ type, id, ...question } as ToWorker)
    })
  }

  /**
   * Hands it a client's connection, which is its own from now on: when it ends, the connection is closed. False: it is just going, and
   * the connection is whose it was.
   */
  hand(socket: Socket): boolean {
    const message: Notice = { type: 'connection' }
    if (!this.#child.connected) return false
    // Kept open until it is sent, and closed here and not by Node, which forgets it when the other end has gone meanwhile: the client
    // would wait for ever.
    this.#child.send(message, socket, { keepOpen: true }, (error) => {
      if (error === null) socket.destroy()
      else this.#hearing.returned(socket)
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
        this.#hearing.taken() // or the connection was lost on its way, for want of descriptors
      },
      (error) => error instanceof Gone || this.kill(`hung: ${error.message}`),
    )
  }

  /** Ends it at once, and keeps the reason. */
  kill(reason: string): void {
    this.failure ??= reason
    this.#child.kill('SIGKILL')
  }

  #send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  #receive(message: ToPrimary): void {
    if (message.type === 'serving') this.#hearing.serving()
    else if (message.type === 'taken') this.#hearing.taken()
    else if (message.type === 'failed') this.failure = message.message
    else if (message.error === null) this.#asked.get(message.id)?.resolve(message.answer)
    else this.#asked.get(message.id)?.reject(new Error(message.error))
  }

  #forget(): void {
    for (const asked of [...this.#asked.values()]) asked.reject(new Gone('is gone'))
  }

  #gone(): void {
    this.#forget()
    this.#hearing.gone()
  }

  #end(end: End): void {
    this.#gone()
    this.#hearing.ended(end)
  }
}
