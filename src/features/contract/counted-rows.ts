import { BoundedMap, RollingCounter } from '../../core/log/rolling-counter.ts'
import { type NonEmpty, sum } from '../../core/log/sum-reports.ts'

// A full table drops a row that was not seen for that long: a client could otherwise fill it once and for all.
const staleMs = 3_600_000

interface CountedRow<Row, Example> {
  readonly row: Row
  readonly recent: RollingCounter
  readonly firstAt: number
  count: number
  lastAt: number
  example: Example
  /** The number of the last message that was counted: what one does for each item of an array counts once. */
  message: number
}

/** Counts messages by what they do, in a table of bounded size. */
export class CountedRows<Row extends object, Example> {
  readonly #rows: BoundedMap<CountedRow<Row, Example>>
  #message = 0
  #others = 0

  /** `max`: so many rows are kept; further ones are only counted. */
  constructor(max: number) {
    this.#rows = new BoundedMap(
      max,
      ({ lastAt }, at) => at - lastAt >= staleMs,
      ({ count }) => {
        this.#others += count
      },
    )
  }

  /** How often messages did something that has no row. */
  get others(): number {
    return this.#others
  }

  beginMessage(): void {
    this.#message++
  }

  /** Counts the message for a row, once. Returns the row; null: it has no room. */
  count(key: string, create: () => Row, at: number, example: Example): Row | null {
    let counted = this.#rows.get(key)
    if (counted === undefined) {
      const recent = new RollingCounter()
      counted = { row: create(), recent, firstAt: at, count: 0, lastAt: at, example, message: 0 }
      if (!this.#rows.add(key, counted, at)) {
        this.#others++
        return null
      }
    }
    if (counted.message === this.#message) return counted.row
    counted.message = this.#message
    counted.recent.count(at)
    counted.count++
    counted.lastAt = at
    counted.example = example
    return counted.row
  }

  /** Lists the rows with their counts, in no order. */
  list(at: number): readonly (Row & RowCounts<Example>)[] {
    return this.#rows.values.map(({ row, recent, firstAt, count, lastAt, example }) => ({
      ...row,
      count,
      recent: recent.countWithin(at, recentRowMs),
      firstAt,
      lastAt,
      example,
    }))
  }
}

/** How often messages did what a row names. Times are milliseconds since the epoch. */
export interface RowCounts<Example> {
  readonly count: number
  /** Those of the last five minutes. */
  readonly recent: number
  readonly firstAt: number
  readonly lastAt: number
  readonly example: Example
}

/** How long something is recent. A finding is gone when nothing was wrong for that long. */
export const recentRowMs = 300_000

/** Merges the counts that several processes have of one row; the rest is from the last of them. */
export const mergeRowCounts = <Row extends RowCounts<unknown>>(same: NonEmpty<Row>): Row => ({
  ...same.reduce((last, row) => (row.lastAt > last.lastAt ? row : last)),
  count: sum(same.map(({ count }) => count)),
  recent: sum(same.map(({ recent }) => recent)),
  firstAt: Math.min(...same.map(({ firstAt }) => firstAt)),
})

/** Keeps the worst rows of several processes, as many as one keeps, and adds the rest to those that have no row. */
export const keepWorstRows = <Row extends RowCounts<unknown>>(
  rows: readonly Row[],
  max: number,
  others: readonly number[],
): { readonly rows: readonly Row[]; readonly others: number } => {
  const sorted = rows.toSorted(worstRowFirst)
  return { rows: sorted.slice(0, max), others: sum([...others, ...sorted.slice(max).map(({ count }) => count)]) }
}

/** Orders rows by what happens now, and then by what has happened. */
export const worstRowFirst = (a: RowCounts<unknown>, b: RowCounts<unknown>): number =>
  b.recent - a.recent || b.count - a.count || b.lastAt - a.lastAt
