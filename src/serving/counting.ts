import type { Outcome } from '../shared/limiter/bucket.ts'
import type { ToPrimary } from './protocol.ts'

type Told = (outcomes: readonly Outcome[] | null) => void

/** Has the primary count for a worker: what each takes of a limit, it takes of all. */
export class Counting {
  readonly #tell: (message: ToPrimary) => void
  readonly #open = new Map<number, Told>()
  #last = 0

  constructor(tell: (message: ToPrimary) => void) {
    this.#tell = tell
  }

  /** Takes one for each key. Resolves with null when the primary does not know that limit. Who waits how long is not decided here. */
  ask(limit: string, keys: readonly string[]): Promise<readonly Outcome[] | null> {
    const batch = ++this.#last
    return new Promise((resolve) => {
      this.#open.set(batch, resolve)
      this.#tell({ type: 'takes', batch, limit, keys })
    })
  }

  /** Takes the answer. */
  answered(batch: number, outcomes: readonly Outcome[] | null): void {
    this.#open.get(batch)?.(outcomes)
    this.#open.delete(batch)
  }
}
