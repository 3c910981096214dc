import type { Readable } from 'node:stream'
import { settlesWithin } from '../../core/lib/clock.ts'
import { formatDuration } from '../../core/lib/text/units.ts'
import type { Log } from '../../core/log/log.ts'
import type { Acceptor } from './acceptor.ts'
import type { WorkerInit } from './messages.ts'
import { type ExitStatus, type WorkerEvents, WorkerProcess } from './worker-process.ts'

interface SlotCallbacks extends Omit<WorkerEvents, 'onExit'> {
  createInit(): Omit<WorkerInit, 'worker'>
  /** Until a worker serves, and how long it may stay silent after a timeout, before it is killed. */
  readonly startMs: number
  readonly hangMs: number
  onStart(number: number, worker: WorkerProcess): void
  onExit(number: number, worker: WorkerProcess, exitStatus: ExitStatus, nextStartMs: number): void
}

export type WorkerSlot = ReturnType<typeof createWorkerSlot>

/** Replaces a worker that ends, while the pool serves. `number`: from 1. */
export const createWorkerSlot = (number: number, callbacks: SlotCallbacks) => {
  const { startMs, hangMs } = callbacks
  const nextDelayMs = createRestartBackoff()
  let restartTimer: NodeJS.Timeout | undefined

  const spawn = (): void => {
    const startTimer = setTimeout(() => worker.kill(`did not serve within ${formatDuration(startMs)}`), startMs)
    const events: WorkerEvents = {
      ...callbacks,
      onReady: (worker) => {
        clearTimeout(startTimer)
        slot.isServing = true
        callbacks.onReady(worker)
      },
      onDisconnect: (worker) => {
        slot.isServing = false
        callbacks.onDisconnect(worker)
      },
      onExit: (exitStatus, worker) => {
        clearTimeout(startTimer)
        if (slot.worker !== worker) return
        slot.worker = null
        const delayMs = nextDelayMs(worker.livedMs)
        if (!slot.isRetired) {
          slot.restarts++
          restartTimer = setTimeout(spawn, delayMs)
        }
        callbacks.onExit(number, worker, exitStatus, delayMs)
      },
    }
    const worker = new WorkerProcess({ ...callbacks.createInit(), worker: number }, events, hangMs)
    slot.worker = worker
    callbacks.onStart(number, worker)
  }
  const slot = {
    number,
    worker: null as WorkerProcess | null,
    isServing: false,
    restarts: 0,
    isRetired: false,
    spawn,
    retire(): void {
      slot.isRetired = true
      clearTimeout(restartTimer)
    },
  }
  return slot
}

const firstDelayMs = 100
const maxDelayMs = 30_000
// After that time, the start of a worker is not why it ended.
const stableAfterMs = 60_000

/**
 * Delays restarts, since a process that cannot run would use up a core: not the first, then 100 ms, doubled up to 30 s.
 */
export const createRestartBackoff = () => {
  let exits = 0
  return (livedMs: number): number => {
    if (livedMs >= stableAfterMs) exits = 0
    const doubled = firstDelayMs * 2 ** (exits - 1)
    return exits++ === 0 ? 0 : Math.min(doubled, maxDelayMs)
  }
}

interface WorkerSupervisorOptions
  extends Pick<SlotCallbacks, 'createInit' | 'startMs' | 'hangMs' | 'onCall' | 'onNotification'> {
  readonly size: number
  readonly acceptor: Pick<Acceptor, 'distributor' | 'tracker'>
  readonly log: Log
  forwardLines(lines: Buffer): void
  onExit(worker: WorkerProcess): void
}

export const createWorkerSupervisor = ({
  size,
  acceptor: { distributor, tracker },
  log,
  forwardLines,
  onExit,
  ...slotOptions
}: WorkerSupervisorOptions) => {
  let recheck = (): void => {}
  /** Why a first worker, and so the gateway, could not start. */
  let failure: Error | null = null
  let phase: 'starting' | 'serving' | 'stopping' = 'starting'

  const waitUntil = (condition: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      recheck = () => condition() && resolve()
      recheck()
    })
  const noteExit: SlotCallbacks['onExit'] = (number, { pid, failure: reason }, { code, signal }, nextStartMs) => {
    if (phase === 'stopping') return
    if (phase === 'serving') {
      const exit = { code, signal, ...(reason === null ? {} : { reason }) }
      return log.error({ worker: number, pid, ...exit, nextStartMs }, 'worker ended')
    }
    const exit = signal === null ? `with ${code}` : `by ${signal}`
    failure ??= new Error(`worker ${number} cannot serve: ${reason ?? `it ended ${exit} before it did`}`)
    for (const slot of slots) slot.retire()
  }
  const callbacks: SlotCallbacks = {
    ...slotOptions,
    onOutput: (stdout) => forwardWholeLines(stdout, forwardLines),
    onStart: (number, { pid }) => log.info({ worker: number, pid }, 'worker started'),
    onReady: (worker) => {
      distributor.add(worker)
      recheck()
    },
    onConnectionAck: distributor.onAck,
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
    onExit: (number, worker, exitStatus, nextStartMs) => {
      onExit(worker)
      noteExit(number, worker, exitStatus, nextStartMs)
      recheck()
    },
  }
  const slots: readonly WorkerSlot[] = Array.from({ length: size }, (_, nth) => createWorkerSlot(nth + 1, callbacks))

  return {
    slots,
    async start(): Promise<void> {
      for (const slot of slots) slot.spawn()
      await waitUntil(() => failure !== null || slots.every(({ isServing }) => isServing))
      if (failure !== null) throw failure
      phase = 'serving'
    },
    /** Workers close when running requests have finished, and are killed `exitMs` after the deadline. */
    async stop(deadlineMs: number, exitMs: number): Promise<void> {
      phase = 'stopping'
      for (const slot of slots) {
        slot.retire()
        if (slot.isServing) slot.worker?.send({ type: 'close', deadlineMs })
        else slot.worker?.kill('was still starting')
      }
      const gone = waitUntil(() => slots.every(({ worker }) => worker === null))
      if (await settlesWithin(deadlineMs + exitMs, gone)) return
      for (const { worker } of slots) worker?.kill('did not exit')
      await gone
    },
  }
}

// Bounds a line without an end.
const maxLineBytes = 1024 ** 2
const newline = 10

/** A process that died may have left a part of a line. */
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
  from.on('error', () => {})
}
