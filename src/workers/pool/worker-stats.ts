import { pluck } from '../../observe/sum-reports.ts'
import { mergeReports } from '../../runtime/report/merge-reports.ts'
import { countInFlight, type StatusReport, type WorkerStatus } from '../../runtime/report/status-report.ts'
import type { WorkerCallResults } from '../ipc/messages.ts'
import { CumulativeCounters } from './cumulative-counters.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-slot.ts'

/** Asks the workers how they do, and never waits for one that hangs. */
export class WorkerStats {
  readonly #slots: readonly WorkerSlot[]
  readonly #timeoutMs: number
  /** What each said last; null: it did not answer. Who was never asked is not there. */
  readonly #lastReplies = new WeakMap<WorkerProcess, WorkerCallResults['report'] | null>()
  #pending: Promise<readonly WorkerCallResults['report'][]> | null = null
  readonly #counters = new CumulativeCounters<WorkerProcess>()

  constructor(slots: readonly WorkerSlot[], timeoutMs: number) {
    this.#slots = slots
    this.#timeoutMs = timeoutMs
  }

  /** Makes one report of what all of them say; `primary` is what this process knows. */
  async collect(primary: () => StatusReport): Promise<StatusReport> {
    this.#pending ??= this.#poll().finally(() => {
      this.#pending = null
    })
    const received = await this.#pending
    const known = primary()
    return this.#counters.mergeInto(mergeReports(known, pluck(received, 'report')), known)
  }

  /** Tells of each by what it said last. */
  workers(draining: boolean): readonly WorkerStatus[] {
    return this.#slots.map(({ number, worker, isServing, isRetired: isLeft, restarts }): WorkerStatus => {
      const received = worker === null ? null : this.#lastReplies.get(worker)
      const liveState = received === null ? 'not answering' : draining ? 'draining' : 'serving'
      return {
        worker: number,
        pid: worker?.pid ?? null,
        state: worker === null ? (isLeft ? 'ended' : 'waiting') : isServing ? liveState : 'starting',
        startedAt: worker?.startedAt ?? null,
        restarts,
        inFlight: received == null ? null : countInFlight(received.report),
        config: received?.config ?? null,
      }
    })
  }

  /** Counts the log lines that workers dropped, by what they said last. */
  get droppedLines(): number {
    return this.#counters.droppedLines
  }

  /** Keeps the counts of a worker that is gone. */
  onExit(worker: WorkerProcess): void {
    this.#counters.retire(worker)
  }

  async #poll(): Promise<readonly WorkerCallResults['report'][]> {
    const replies = await Promise.all(
      this.#slots.map(async ({ worker, isServing }) => {
        if (worker === null || !isServing) return null
        const reply = await worker.call('report', {}, this.#timeoutMs).catch(() => null)
        this.#lastReplies.set(worker, reply)
        if (reply !== null) this.#counters.update(worker, reply)
        return reply
      }),
    )
    return replies.filter((reply) => reply !== null)
  }
}
