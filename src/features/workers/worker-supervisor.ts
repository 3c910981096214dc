import type { Readable } from 'node:stream'
import { settlesWithin } from '../../core/lib/clock.ts'
import { formatDuration } from '../../core/lib/text/units.ts'
import type { Log } from '../../core/log/log.ts'
import type { ConnectionTracker } from './acceptor.ts'
import type { ConnectionDistributor } from './connection-distributor.ts'
import type { WorkerInit } from './messages.ts'
import { type ExitStatus, type WorkerEvents, WorkerProcess } from './worker-process.ts'

interface SlotCallbacks extends Omit<WorkerEvents, 'onExit'> {
  createInit(): Omit<WorkerInit, 'worker'>
  /** How long a worker may take to serve, and may stay silent after a timeout, before it is killed. */
  readonly startMs: number
  readonly hangMs: number
  onStart(slot: WorkerSlot, worker: WorkerProcess): void
  onExit(slot: WorkerSlot, worker: WorkerProcess, exitStatus: ExitStatus, nextStartMs: number): void
}

/** While the pool serves, a worker that ends is replaced. */
export class WorkerSlot {
  /** Counted from 1. */
  readonly number: number
  worker: WorkerProcess | null = null
  isServing = false
  restarts = 0
  readonly #callbacks: SlotCallbacks
  readonly #backoff = new RestartBackoff()
  #restartTimer: NodeJS.Timeout | null = null
  isRetired = false

  constructor(number: number, callbacks: SlotCallbacks) {
    this.number = number
    this.#callbacks = callbacks
  }

  spawn(): void {
    this.#restartTimer = null
    const callbacks = this.#callbacks
    const { startMs } = callbacks
    const startTimer = setTimeout(() => worker.kill(`did not serve within ${formatDuration(startMs)}`), startMs)
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
// A worker that lived this long did not end because of how it was started.
const stableAfterMs = 60_000

/** Delays restarts, so that a process that cannot run does not use up a core. */
export class RestartBackoff {
  #exits = 0

  /** Returns the delay in ms: none after the first exit, then 100 ms, doubled each time up to 30 s. */
  nextDelayMs(livedMs: number): number {
    if (livedMs >= stableAfterMs) this.#exits = 0
    const doubled = firstDelayMs * 2 ** (this.#exits - 1)
    return this.#exits++ === 0 ? 0 : Math.min(doubled, maxDelayMs)
  }
}

interface WorkerSupervisorOptions
  extends Pick<SlotCallbacks, 'createInit' | 'startMs' | 'hangMs' | 'onCall' | 'onNotification'> {
  readonly size: number
  readonly distributor: ConnectionDistributor
  readonly tracker: ConnectionTracker<WorkerProcess>
  readonly log: Log
  forwardLines(lines: Buffer): void
  onExit(worker: WorkerProcess): void
}

export class WorkerSupervisor {
  readonly slots: readonly WorkerSlot[]
  readonly #log: Log
  #recheck = (): void => {}
  /** Why a first worker could not start, and so the gateway cannot. */
  #failure: Error | null = null
  #phase: 'starting' | 'serving' | 'stopping' = 'starting'

  constructor({ size, distributor, tracker, log, forwardLines, onExit, ...slotOptions }: WorkerSupervisorOptions) {
    this.#log = log
    const callbacks: SlotCallbacks = {
      ...slotOptions,
      onOutput: (stdout) => forwardWholeLines(stdout, forwardLines),
      onStart: ({ number }, { pid }) => log.info({ worker: number, pid }, 'worker started'),
      onReady: (worker) => {
        distributor.add(worker)
        this.#recheck()
      },
      onConnectionAck: (worker) => distributor.onAck(worker),
      onHandOff: (socket, worker) => tracker.assign(worker, socket),
      onConnectionReturned: (socket, addressKey, worker) => {
        tracker.unassign(worker, socket, addressKey)
        distributor.distribute(socket)
      },
      onConnectionsClosed: (addressKeys, worker) => tracker.release(worker, addressKeys),
      onDisconnect: (worker) => {
        distributor.remove(worker)
        tracker.releaseAll(worker)
      },
      onExit: (slot, worker, exitStatus, nextStartMs) => {
        onExit(worker)
        this.#onExit(slot, worker, exitStatus, nextStartMs)
        this.#recheck()
      },
    }
    this.slots = Array.from({ length: size }, (_, nth) => new WorkerSlot(nth + 1, callbacks))
  }

  async start(): Promise<void> {
    for (const slot of this.slots) slot.spawn()
    await this.#waitUntil(() => this.#failure !== null || this.slots.every(({ isServing }) => isServing))
    if (this.#failure !== null) throw this.#failure
    this.#phase = 'serving'
  }

  /** Workers close when running requests have finished. Those left `exitMs` after the deadline are killed. */
  async stop(deadlineMs: number, exitMs: number): Promise<void> {
    this.#phase = 'stopping'
    for (const slot of this.slots) {
      slot.retire()
      if (slot.isServing) slot.worker?.send({ type: 'close', deadlineMs })
      else slot.worker?.kill('was still starting')
    }
    const gone = this.#waitUntil(() => this.slots.every(({ worker }) => worker === null))
    if (await settlesWithin(deadlineMs + exitMs, gone)) return
    for (const { worker } of this.slots) worker?.kill('did not exit')
    await gone
  }

  #onExit({ number }: WorkerSlot, worker: WorkerProcess, { code, signal }: ExitStatus, nextStartMs: number): void {
    const { pid, failure } = worker
    if (this.#phase === 'stopping') return
    if (this.#phase === 'serving') {
      const exit = { code, signal, ...(failure === null ? {} : { reason: failure }) }
      return this.#log.error({ worker: number, pid, ...exit, nextStartMs }, 'worker ended')
    }
    const exit = signal === null ? `with ${code}` : `by ${signal}`
    this.#failure ??= new Error(`worker ${number} cannot serve: ${failure ?? `it ended ${exit} before it did`}`)
    for (const slot of this.slots) slot.retire()
  }

  #waitUntil(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#recheck = () => condition() && resolve()
      this.#recheck()
    })
  }
}

// No line is nearly as long. A line without an end must not grow for ever.
const maxLineBytes = 1024 ** 2
const newline = 10

/** Forwards whole lines only: a process that died may have left a part of a line. */
export const forwardWholeLines = (from: Readable, forward: (lines: Buffer) => void): void => {
  let rest: Buffer[] = []
  let restBytes = 0
  let skipping = false
  from.on('data', (read: Buffer) => {
    const chunk = skipping ? read.subarray(read.indexOf(newline) + 1 || read.length) : read
    skipping &&= !read.includes(newline)
    const end = chunk.lastIndexOf(newline) + 1
    if (end > 0) {
      forward(restBytes === 0 ? chunk.subarray(0, end) : Buffer.concat([...rest, chunk.subarray(0, end)]))
      rest = []
      restBytes = 0
    }
    if (end < chunk.length) rest.push(chunk.subarray(end))
    restBytes += chunk.length - end
    if (restBytes <= maxLineBytes) return
    rest = []
    restBytes = 0
    skipping = true
  })
  from.on('error', () => {}) // the end of the stream follows
}
