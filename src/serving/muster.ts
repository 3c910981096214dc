import { within } from '../clock.ts'
import type { Log } from '../observe/log.ts'
import { passWholeLines } from '../observe/output.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Guests } from './guests.ts'
import { type Ground, Post } from './post.ts'
import type { End, WorkerProcess } from './worker-process.ts'

interface MusterOptions extends Pick<Ground, 'start' | 'startMs' | 'hangMs' | 'takeAll' | 'audited' | 'invalidated'> {
  readonly size: number
  readonly dispatcher: Dispatcher
  readonly guests: Guests<WorkerProcess>
  readonly log: Log
  passOn(lines: Buffer): void
  ended(worker: WorkerProcess): void
}

/** Keeps every post filled, from the first worker to the last. */
export class Muster {
  readonly posts: readonly Post[]
  readonly #log: Log
  /** Looks again whether what is waited for has come about. */
  #look = (): void => {}
  /** Why the gateway cannot start: one of the first workers could not. */
  #failure: Error | null = null
  #phase: 'beginning' | 'serving' | 'ending' = 'beginning'

  constructor({ size, dispatcher, guests, log, passOn, ended, ...ground }: MusterOptions) {
    this.#log = log
    const all: Ground = {
      ...ground,
      output: (stdout) => passWholeLines(stdout, passOn),
      started: ({ number }, { pid }) => log.info({ worker: number, pid }, 'worker started'),
      serving: (worker) => {
        dispatcher.add(worker)
        this.#look()
      },
      taken: (worker) => dispatcher.taken(worker),
      handed: (socket, worker) => guests.handTo(worker, socket),
      returned: (socket, counted, worker) => {
        guests.takeBack(worker, socket, counted)
        dispatcher.deal(socket)
      },
      left: (counted, worker) => guests.left(worker, counted),
      gone: (worker) => {
        dispatcher.remove(worker)
        guests.gone(worker)
      },
      ended: (post, worker, end, nextStartMs) => {
        ended(worker)
        this.#ended(post, worker, end, nextStartMs)
        this.#look()
      },
    }
    this.posts = Array.from({ length: size }, (_, nth) => new Post(nth + 1, all))
  }

  /** Starts all workers, and waits until all of them serve. Rejects when one of them cannot. */
  async begin(): Promise<void> {
    for (const post of this.posts) post.fill()
    await this.#until(() => this.#failure !== null || this.posts.every(({ isServing }) => isServing))
    if (this.#failure !== null) throw this.#failure
    this.#phase = 'serving'
  }

  /** Has all workers finish what runs, and waits until they are gone. Those left `exitMs` after the deadline are killed. */
  async end(deadlineMs: number, exitMs: number): Promise<void> {
    this.#phase = 'ending'
    for (const post of this.posts) {
      post.leave()
      if (post.isServing) post.worker?.send({ type: 'close', deadlineMs })
      else post.worker?.kill('was still starting')
    }
    const gone = this.#until(() => this.posts.every(({ worker }) => worker === null))
    if (await within(deadlineMs + exitMs, gone)) return
    for (const { worker } of this.posts) worker?.kill('did not exit')
    await gone
  }

  #ended({ number }: Post, { pid, failure }: WorkerProcess, { code, signal }: End, nextStartMs: number): void {
    if (this.#phase === 'ending') return
    if (this.#phase === 'serving') {
      const how = { code, signal, ...(failure === null ? {} : { reason: failure }) }
      return this.#log.error({ worker: number, pid, ...how, nextStartMs }, 'worker ended')
    }
    const how = signal === null ? `with ${code}` : `by ${signal}`
    this.#failure ??= new Error(`worker ${number} cannot serve: ${failure ?? `it ended ${how} before it did`}`)
    for (const post of this.posts) post.leave()
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => isSo() && resolve()
      this.#look()
    })
  }
}
