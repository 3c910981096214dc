import type { LearnedContract } from '../../../../features/contract-learning/learn/learned-contract.ts'
import type { Learner } from '../../../../features/contract-learning/learn/learner.ts'
import type { WorkerProcess } from './worker-process.ts'

/**
 * Keeps what workers have learnt of the contract, as of when each was asked last. A worker that crashes, hangs or is
 * killed ends without a word: the learner of this process takes over what it had learnt.
 */
export class LearnedArchive {
  readonly #learner: () => Learner | null
  readonly #ask: (worker: WorkerProcess) => Promise<LearnedContract | null>
  readonly #latest = new WeakMap<WorkerProcess, { readonly learned: LearnedContract; readonly learner: Learner }>()

  /** `learner` gets the learner of this process: another one once learning has begun anew, null when there is none. */
  constructor(learner: () => Learner | null, ask: (worker: WorkerProcess) => Promise<LearnedContract | null>) {
    this.#learner = learner
    this.#ask = ask
  }

  /** Asks each worker what it has learnt. Does nothing where nothing was. */
  update(workers: readonly WorkerProcess[]): void {
    const learner = this.#learner()
    if (learner === null) return
    for (const worker of workers)
      this.#ask(worker).then(
        (learned) => learned !== null && this.#latest.set(worker, { learned, learner }),
        () => {}, // it has ended, or hangs: what is known of it stays
      )
  }

  /** Takes over what a worker had learnt, unless learning has begun anew since. */
  onExit(worker: WorkerProcess): void {
    const latest = this.#latest.get(worker)
    if (latest !== undefined && latest.learner === this.#learner()) latest.learner.adopt(latest.learned)
  }
}
