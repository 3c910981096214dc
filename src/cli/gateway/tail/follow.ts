import type { RefusalStatus, Refused } from '../refusals-answer.ts'

/** Is what is new in what a gateway tells. */
export interface Fresh {
  /** The oldest first. */
  readonly fresh: readonly RefusalStatus[]
  /** Whether more were refused than are told. */
  readonly missed: boolean
}

// Far more than a gateway remembers, which is 100 of the nine and 100 others: a worker that does not answer for a while tells its own again.
const remembered = 2000

/** Tells what is new in lists that overlap: a gateway tells the last of what it refused each time that it is asked. */
export class Follow {
  readonly #seen = new Set<string>()
  #total: number | null = null

  /** Takes the next list, the newest first. Of the first, everything is new. */
  next({ refusals, total }: Refused): Fresh {
    const fresh = refusals.filter((each) => !this.#seen.has(keyOf(each))).toReversed()
    // Of another process, the total has nothing to do with the one before.
    const before = this.#total
    const missed = before !== null && total !== null && total - before !== fresh.length
    this.#total = total
    for (const each of fresh) this.#seen.add(keyOf(each))
    for (const key of this.#seen) {
      if (this.#seen.size <= remembered) break
      this.#seen.delete(key)
    }
    return { fresh, missed }
  }
}

const keyOf = ({ at, requestId, kind }: RefusalStatus): string => JSON.stringify([at, requestId, kind])
