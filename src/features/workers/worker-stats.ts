import { epochMs } from '../../core/lib/clock.ts'
import { pluck } from '../../core/log/sum-reports.ts'
import { mergeReports, type StatusReport } from '../../core/runtime/status/report.ts'
import { countInFlight } from '../../core/runtime/status/upstreams.ts'
import type { WorkerStatus } from './admin.ts'
import { CumulativeCounters } from './cumulative-counters.ts'
import type { WorkerCallResults } from './messages.ts'
import { type WorkerTimeouts, waitUntilLate } from './two-phase-commit.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-supervisor.ts'

/** The statistics of the workers, which it polls. It never waits for a worker that hangs. */
export class WorkerStats {
  readonly #slots: readonly WorkerSlot[]
  readonly #timeouts: Pick<WorkerTimeouts, 'reportMs' | 'urgentReplyMs'>
  /** The last reply of each. Null: it did not reply. A worker that was never asked is missing. */
  readonly #lastReplies = new WeakMap<WorkerProcess, WorkerCallResults['report'] | null>()
  /** When each last replied, in ms since the epoch. */
  readonly #heardAt = new WeakMap<WorkerProcess, number>()
  #pending: Promise<readonly WorkerCallResults['report'][]> | null = null
  readonly #counters = new CumulativeCounters<WorkerProcess>()

  constructor(slots: readonly WorkerSlot[], timeouts: Pick<WorkerTimeouts, 'reportMs' | 'urgentReplyMs'>) {
    this.#slots = slots
    this.#timeouts = timeouts
  }

  /**
   * Merges the reports of all workers. `primary` is what this process knows. A short time after `urgent` resolves, it
   * takes the last reply of a worker in place of the next one.
   */
  async collect(primary: () => StatusReport, urgent?: Promise<void>): Promise<StatusReport> {
    this.#pending ??= this.#poll()
    const late = waitUntilLate(urgent, this.#timeouts)
    const replies = await Promise.race([this.#pending, late.then(() => this.#knownReplies)])
    const primaryReport = primary()
    return this.#counters.mergeInto(mergeReports(primaryReport, pluck(replies, 'report')), primaryReport)
  }

  /** Makes the next report ask all workers again: what they were asked before says nothing of a change since. */
  expire(): void {
    this.#pending = null
  }

  /** Returns the state of each worker, as of its last reply. */
  workers(draining: boolean): readonly WorkerStatus[] {
    return this.#slots.map(({ number, worker, isServing, isRetired, restarts }): WorkerStatus => {
      const lastReply = worker === null ? null : this.#lastReplies.get(worker)
      const liveState = lastReply === null ? 'not answering' : draining ? 'draining' : 'serving'
      return {
        worker: number,
        pid: worker?.pid ?? null,
        state: worker === null ? (isRetired ? 'ended' : 'waiting') : isServing ? liveState : 'starting',
        startedAt: worker?.startedAt ?? null,
        heardAt: worker === null ? null : (this.#heardAt.get(worker) ?? null),
        restarts,
        inFlight: lastReply == null ? null : countInFlight(lastReply.report.upstreams),
        config: lastReply?.config ?? null,
      }
    })
  }

  get droppedLines(): number {
    return this.#counters.droppedLines
  }

  onExit(worker: WorkerProcess): void {
    this.#counters.retire(worker)
  }

  get #knownReplies(): readonly WorkerCallResults['report'][] {
    return this.#slots.flatMap(({ worker, isServing }) =>
      worker === null || !isServing ? [] : (this.#lastReplies.get(worker) ?? []),
    )
  }

  /** Asks all workers. Reports that are collected meanwhile share it. */
  #poll(): Promise<readonly WorkerCallResults['report'][]> {
    const polled = this.#askAll().finally(() => {
      if (this.#pending === polled) this.#pending = null
    })
    return polled
  }

  async #askAll(): Promise<readonly WorkerCallResults['report'][]> {
    const replies = await Promise.all(
      this.#slots.map(async ({ worker, isServing }) => {
        if (worker === null || !isServing) return null
        const reply = await worker.call('report', {}, this.#timeouts.reportMs).catch(() => null)
        this.#lastReplies.set(worker, reply)
        if (reply !== null) {
          this.#heardAt.set(worker, epochMs())
          this.#counters.update(worker, reply)
        }
        return reply
      }),
    )
    return replies.filter((reply) => reply !== null)
  }
}
