import type { RefusalStatus } from '../refusals-answer.ts'

/** Is what is new in what a gateway tells. */
export interface Fresh {
  /** The oldest first. */
  readonly fresh: readonly RefusalStatus[]
  /** Whether more may have been refused than is told. */
  readonly missed: boolean
}

// Far more than a gateway remembers, which is 100 of the nine and 100 others: a worker that does not answer for a while tells its own again.
const remembered = 2000

// How many a gateway remembers of each kind.
const kept = 100

/** Tells what is new in lists that overlap: a gateway tells the last of what it refused each time that it is asked. */
export class Follow {
  readonly #seen = new Set<string>()
  #last: readonly RefusalStatus[] | null = null

  /** Takes the next list, the newest first. Of the first, everything is new. */
  next(list: readonly RefusalStatus[]): Fresh {
    const fresh = list.filter((each) => !this.#seen.has(keyOf(each))).toReversed()
    const before = this.#last
    const missed = before !== null && kinds.some((isOf) => hasGap(before.filter(isOf), list.filter(isOf)))
    this.#last = list
    for (const each of fresh) this.#seen.add(keyOf(each))
    for (const key of this.#seen) {
      if (this.#seen.size <= remembered) break
      this.#seen.delete(key)
    }
    return { fresh, missed }
  }
}

const keyOf = ({ at, requestId, kind }: RefusalStatus): string => JSON.stringify([at, requestId, kind])

/** A gateway remembers the ones apart from the others. */
const kinds: readonly ((each: RefusalStatus) => boolean)[] = [
  ({ operation }) => operation !== null,
  ({ operation }) => operation === null,
]

/** Nothing of the list before is left: it was pushed out, or another process answers. */
const hasGap = (before: readonly RefusalStatus[], list: readonly RefusalStatus[]): boolean => {
  if (before.length === 0) return list.length >= kept
  const keys = new Set(list.map(keyOf))
  return !before.some((each) => keys.has(keyOf(each)))
}
