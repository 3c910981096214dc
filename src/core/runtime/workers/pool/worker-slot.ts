import { formatDuration } from '../../../lib/text/units.ts'
import type { WorkerInit } from '../ipc/messages.ts'
import { type ExitStatus, type WorkerEvents, WorkerProcess } from './worker-process.ts'

export interface SlotCallbacks extends Omit<WorkerEvents, 'onExit'> {
  createInit(): Omit<WorkerInit, 'worker'>
  /** The longest time until it serves; it is killed then. */
  readonly startMs: number
  /** The longest time until it gives a sign of life when it was late with something; it is killed then. */
  readonly hangMs: number
  onStart(slot: WorkerSlot, worker: WorkerProcess): void
  onExit(slot: WorkerSlot, worker: WorkerProcess, exitStatus: ExitStatus, nextStartMs: number): void
}

/** The slot of a worker: while the pool serves, a worker that ends is followed by another. */
export class WorkerSlot {
  /** Counted from 1. */
  readonly number: number
  worker: WorkerProcess | null = null
  isServing = false
  restarts = 0
  readonly #callbacks: SlotCallbacks
  readonly #backoff = new RestartBackoff()
  #restartTimer: NodeJS.Timeout | null = null
  /** Whether no worker follows the one that is there. */
  isRetired = false

  constructor(number: number, callbacks: SlotCallbacks) {
    this.number = number
    this.#callbacks = callbacks
  }

  spawn(): void {
    this.#restartTimer = null
    const callbacks = this.#callbacks
    const startTimer = setTimeout(
      () => worker.kill(`did not serve within ${formatDuration(callbacks.startMs)}`),
      callbacks.startMs,
    )
    const events: WorkerEvents = {
      ...callbacks,
      onReady: (worker) => {
        clearTimeout(startTimer)
        this.isServing = true
        callbacks.onReady(worker)
      },
      onDisconnect: (worker) => {
        this.isServing = false
        callbacks.onDisconnect(worker)
      },
      onExit: (exitStatus, worker) => {
        clearTimeout(startTimer)
        this.#onExit(worker, exitStatus)
      },
    }
    const worker = new WorkerProcess({ ...callbacks.createInit(), worker: this.number }, events, callbacks.hangMs)
    this.worker = worker
    callbacks.onStart(this, worker)
  }

  retire(): void {
    this.isRetired = true
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer)
    this.#restartTimer = null
  }

  #onExit(worker: WorkerProcess, exitStatus: ExitStatus): void {
    if (this.worker !== worker) return
    this.worker = null
    const delayMs = this.#backoff.nextDelayMs(worker.livedMs)
    if (!this.isRetired) {
      this.restarts++
      this.#restartTimer = setTimeout(() => this.spawn(), delayMs)
    }
    this.#callbacks.onExit(this, worker, exitStatus, delayMs)
  }
}

const firstDelayMs = 100
const maxDelayMs = 30_000
// A worker that lived so long did not end because of how it was started.
const stableAfterMs = 60_000

/** The delay before a process that ended is started again, so that a process that cannot run does not cost a core. */
export class RestartBackoff {
  #exits = 0

  /** Counts an exit. Returns the delay in ms: none after the first, then 100 ms, doubled each time up to 30 s. */
  nextDelayMs(livedMs: number): number {
    if (livedMs >= stableAfterMs) this.#exits = 0
    const doubled = firstDelayMs * 2 ** (this.#exits - 1)
    return this.#exits++ === 0 ? 0 : Math.min(doubled, maxDelayMs)
  }
}
