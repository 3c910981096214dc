import { formatDuration } from '../units.ts'
import type { Start } from './protocol.ts'
import { type End, type WorkerEvents, WorkerProcess } from './worker-process.ts'

/** What a post needs of its crew. */
export interface Ground extends Omit<WorkerEvents, 'ended'> {
  /** Makes what a worker is told first. */
  start(): Omit<Start, 'worker'>
  /** Longest time until it serves; it is killed then. */
  readonly startMs: number
  /** Longest time until it gives a sign of life when it was late with something; it is killed then. */
  readonly hangMs: number
  started(post: Post, worker: WorkerProcess): void
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
    const events: WorkerEvents = {
      ...ground,
      serving: (worker) => {
        clearTimeout(late)
        this.isServing = true
        ground.serving(worker)
      },
      gone: (worker) => {
        this.isServing = false
        ground.gone(worker)
      },
      ended: (end, worker) => {
        clearTimeout(late)
        this.#ended(worker, end)
      },
    }
    const worker = new WorkerProcess({ ...ground.start(), worker: this.number }, events, ground.hangMs)
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
