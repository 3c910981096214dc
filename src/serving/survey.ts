import { pluck } from '../observe/added.ts'
import { mergeReports } from '../snapshot/merge.ts'
import { inFlightOf, type Report, type WorkerState } from '../snapshot/report.ts'
import type { Post } from './post.ts'
import type { Answer } from './protocol.ts'
import { Tally } from './tally.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Asks the workers how they do, and never waits for one that hangs. */
export class Survey {
  readonly #posts: readonly Post[]
  readonly #withinMs: number
  /** What each said last; null: it did not answer. Who was never asked is not there. */
  readonly #said = new WeakMap<WorkerProcess, Answer['report'] | null>()
  #running: Promise<readonly Answer['report'][]> | null = null
  readonly #tally = new Tally<WorkerProcess>()

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
    const known = primary()
    return this.#tally.inAll(mergeReports(known, pluck(said, 'report')), known)
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
    return this.#tally.droppedLines
  }

  /** Keeps the counts of a worker that is gone. */
  ended(worker: WorkerProcess): void {
    this.#tally.ended(worker)
  }

  async #ask(): Promise<readonly Answer['report'][]> {
    const answers = await Promise.all(
      this.#posts.map(async ({ worker, isServing }) => {
        if (worker === null || !isServing) return null
        const answer = await worker.ask('report', {}, this.#withinMs).catch(() => null)
        this.#said.set(worker, answer)
        if (answer !== null) this.#tally.note(worker, answer)
        return answer
      }),
    )
    return answers.filter((answer) => answer !== null)
  }
}
