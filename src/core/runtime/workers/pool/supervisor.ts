import { settlesWithin } from '../../../lib/clock.ts'
import type { Log } from '../../../log/log.ts'
import { forwardWholeLines } from '../../../log/log-queue.ts'
import type { ConnectionDistributor } from '../accept/connection-distributor.ts'
import type { ConnectionTracker } from '../accept/connection-tracker.ts'
import type { ExitStatus, WorkerProcess } from './worker-process.ts'
import { type SlotCallbacks, WorkerSlot } from './worker-slot.ts'

interface WorkerSupervisorOptions
  extends Pick<SlotCallbacks, 'createInit' | 'startMs' | 'hangMs' | 'onCall' | 'onNotification'> {
  readonly size: number
  readonly distributor: ConnectionDistributor
  readonly tracker: ConnectionTracker<WorkerProcess>
  readonly log: Log
  forwardLines(lines: Buffer): void
  onExit(worker: WorkerProcess): void
}

/** Keeps every slot filled, from the first worker to the last. */
export class WorkerSupervisor {
  readonly slots: readonly WorkerSlot[]
  readonly #log: Log
  /** Checks again whether the awaited condition holds. */
  #recheck = (): void => {}
  /** Why the gateway cannot start: one of the first workers could not. */
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

  /** Starts all workers, and waits until all of them serve. Rejects when one of them cannot. */
  async start(): Promise<void> {
    for (const slot of this.slots) slot.spawn()
    await this.#waitUntil(() => this.#failure !== null || this.slots.every(({ isServing }) => isServing))
    if (this.#failure !== null) throw this.#failure
    this.#phase = 'serving'
  }

  /**
   * Closes all workers once what runs has finished, and waits until they have ended. Those left `exitMs` after the
   * deadline are killed.
   */
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

  #onExit(
    { number }: WorkerSlot,
    { pid, failure }: WorkerProcess,
    { code, signal }: ExitStatus,
    nextStartMs: number,
  ): void {
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
