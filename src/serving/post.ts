import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Target } from '../layers/cache/invalidate.ts'
import type { Outcome } from '../shared/limiter/bucket.ts'
import { formatDuration } from '../units.ts'
import type { Start } from './protocol.ts'
import { type End, type Hearing, WorkerProcess } from './worker-process.ts'

/** Is what a post needs of its crew. */
export interface Ground {
  /** Makes what a worker is told first. */
  start(): Omit<Start, 'worker'>
  /** Longest time until it serves; it is killed then. */
  readonly startMs: number
  /** Longest time until it gives a sign of life when it was late with something; it is killed then. */
  readonly hangMs: number
  /** Takes what it writes to stdout. */
  output(stdout: Readable): void
  started(post: Post, worker: WorkerProcess): void
  /** It waits for connections. */
  serving(post: Post, worker: WorkerProcess): void
  taken(worker: WorkerProcess): void
  /** Tells what a connection is counted by that it is about to be handed; null: by nothing. */
  handed(worker: WorkerProcess, socket: Socket): string | null
  /** Takes one of a limit for each key; null: that limit is not known here. */
  takeAll(limit: string, keys: readonly string[]): readonly Outcome[] | null
  /** Takes lines of the audit log. */
  audited(lines: readonly string[], lost: number): void
  /** These are invalid in the others too. */
  invalidated(targets: readonly Target[], by: WorkerProcess): void
  /** Could not be handed to it. */
  returned(worker: WorkerProcess, socket: Socket, counted: string | null): void
  /** Connections of its own have ended. */
  left(worker: WorkerProcess, counted: readonly string[]): void
  /** It takes no more connections: it has left, or is about to end. */
  gone(worker: WorkerProcess): void
  ended(post: Post, worker: WorkerProcess, end: End, nextStartMs: number): void
}

/** Is the post of a worker: while the crew serves, one that ends is followed by another. */
export class Post {
  /** Counted from 1. */
  readonly number: number
  /** Who stands there; null: nobody until the next start. */
  worker: WorkerProcess | null = null
  isServing = false
  /** How often one ended and was replaced. */
  restarts = 0
  readonly #ground: Ground
  readonly #backoff = new Backoff()
  #next: NodeJS.Timeout | null = null
  /** Whether nobody follows whoever stands there. */
  isLeft = false

  constructor(number: number, ground: Ground) {
    this.number = number
    this.#ground = ground
  }

  /** Starts a worker. */
  fill(): void {
    this.#next = null
    const ground = this.#ground
    const late = setTimeout(() => worker.kill(`did not serve within ${formatDuration(ground.startMs)}`), ground.startMs)
    const hearing: Hearing = {
      output: (stdout) => ground.output(stdout),
      serving: () => {
        clearTimeout(late)
        this.isServing = true
        ground.serving(this, worker)
      },
      taken: () => ground.taken(worker),
      handed: (socket) => ground.handed(worker, socket),
      returned: (socket, counted) => ground.returned(worker, socket, counted),
      left: (counted) => ground.left(worker, counted),
      takeAll: (limit, keys) => ground.takeAll(limit, keys),
      audited: (lines, lost) => ground.audited(lines, lost),
      invalidated: (targets) => ground.invalidated(targets, worker),
      gone: () => {
        this.isServing = false
        ground.gone(worker)
      },
      ended: (end) => {
        clearTimeout(late)
        this.#ended(worker, end)
      },
    }
    const worker = new WorkerProcess({ ...ground.start(), worker: this.number }, hearing, ground.hangMs)
    this.worker = worker
    ground.started(this, worker)
  }

  /** Starts no further one. */
  leave(): void {
    this.isLeft = true
    if (this.#next !== null) clearTimeout(this.#next)
    this.#next = null
  }

  #ended(worker: WorkerProcess, end: End): void {
    if (this.worker !== worker) return
    this.worker = null
    const pauseMs = this.#backoff.ended(worker.livedMs)
    if (!this.isLeft) {
      this.restarts++
      this.#next = setTimeout(() => this.fill(), pauseMs)
    }
    this.#ground.ended(this, worker, end, pauseMs)
  }
}

const firstPauseMs = 100
const longestPauseMs = 30_000
// Whoever lived so long did not end because of how it was started.
const soundAfterMs = 60_000

/** Says how long to wait before a process that ended is started again, so that one that cannot run does not cost a core. */
export class Backoff {
  #ends = 0

  /** Counts an end, and tells the pause in ms: none after the first, then 100 ms, doubled each time up to 30 s. */
  ended(livedMs: number): number {
    if (livedMs >= soundAfterMs) this.#ends = 0
    const doubled = firstPauseMs * 2 ** (this.#ends - 1)
    return this.#ends++ === 0 ? 0 : Math.min(doubled, longestPauseMs)
  }
}
