import { addMeters, atRest, type MeterReport } from '../observe/metrics/meter-report.ts'
import { mergeReports } from '../snapshot/merge.ts'
import { inFlightOf, type Report, type WorkerState } from '../snapshot/report.ts'
import type { Post } from './post.ts'
import type { Answer } from './protocol.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Asks the workers how they do, and never waits for one that hangs. */
export class Survey {
  readonly #posts: readonly Post[]
  readonly #withinMs: number
  /** What each said last; null: it did not answer. Who was never asked is not there. */
  readonly #said = new WeakMap<WorkerProcess, Answer['report'] | null>()
  #running: Promise<readonly Answer['report'][]> | null = null
  /** What each had counted when it last said so. */
  readonly #counted = new WeakMap<WorkerProcess, MeterReport>()
  /** What those had counted that are gone: one, or none. */
  #countedBefore: readonly MeterReport[] = []
  /** Lines that workers dropped which are gone. */
  #droppedBefore = 0

  constructor(posts: readonly Post[], withinMs: number) {
    this.#posts = posts
    this.#withinMs = withinMs
  }

  /** Makes one report of what all of them say; `primary` is what this process knows. */
  async report(primary: () => Report): Promise<Report> {
    this.#running ??= this.#ask().finally(() => {
      this.#running = null
    })
    const said = await this.#running
    const merged = mergeReports(
      primary(),
      said.map(({ report }) => report),
    )
    return { ...merged, meter: merged.meter && this.#countedInAll(merged.meter) }
  }

  /** Tells of each by what it said last. */
  workers(draining: boolean): readonly WorkerState[] {
    return this.#posts.map(({ number, worker, isServing, isLeft, restarts }): WorkerState => {
      const said = worker === null ? null : this.#said.get(worker)
      const serves = said === null ? 'not answering' : draining ? 'draining' : 'serving'
      return {
        worker: number,
        pid: worker?.pid ?? null,
        state: worker === null ? (isLeft ? 'ended' : 'waiting') : isServing ? serves : 'starting',
        startedAt: worker?.startedAt ?? null,
        restarts,
        inFlight: said == null ? null : inFlightOf(said.report),
        config: said?.config ?? null,
      }
    })
  }

  /** Counts the log lines that workers dropped, by what they said last. */
  get droppedLines(): number {
    const now = this.#posts.map(({ worker }) => (worker === null ? 0 : this.#droppedBy(worker)))
    return now.reduce((sum, dropped) => sum + dropped, this.#droppedBefore)
  }

  /** Keeps the counts of a worker that is gone. */
  ended(worker: WorkerProcess): void {
    this.#droppedBefore += this.#droppedBy(worker)
    const counted = this.#counted.get(worker)
    if (counted !== undefined) this.#countedBefore = [addMeters([...this.#countedBefore, atRest(counted)])]
  }

  /** Adds up what all have counted so far, those too that are gone or do not answer just now: what is counted never goes back. */
  #countedInAll(none: MeterReport): MeterReport {
    const each = this.#posts.flatMap(({ worker }) => (worker === null ? [] : (this.#counted.get(worker) ?? [])))
    return each.length + this.#countedBefore.length === 0 ? none : addMeters([...this.#countedBefore, ...each])
  }

  #droppedBy(worker: WorkerProcess): number {
    return this.#said.get(worker)?.droppedLines ?? 0
  }

  async #ask(): Promise<readonly Answer['report'][]> {
    const answers = await Promise.all(
      this.#posts.map(async ({ worker, isServing }) => {
        if (worker === null || !isServing) return null
        const answer = await worker.ask('report', {}, this.#withinMs).catch(() => null)
        this.#said.set(worker, answer)
        if (answer?.report.meter) this.#counted.set(worker, answer.report.meter)
        return answer
      }),
    )
    return answers.filter((answer) => answer !== null)
  }
}
