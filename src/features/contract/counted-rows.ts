import { createBoundedMap, RollingCounter } from '../../core/log/rolling-counter.ts'
import { type NonEmpty, pluck, sum } from '../../core/log/sum-reports.ts'

// A full table drops rows that old: a client could otherwise fill it forever.
const staleMs = 3_600_000

interface CountedRow<Row, Example> {
  readonly row: Row
  readonly recent: RollingCounter
  readonly firstAt: number
  count: number
  lastAt: number
  example: Example
  /** A violation in each item of an array counts once for a message. */
  message: number
}

export const createCountedRows = <Row extends object, Example>(max: number) => {
  let [message, others] = [0, 0]
  const rows = createBoundedMap<CountedRow<Row, Example>>(
    max,
    ({ lastAt }, at) => at - lastAt >= staleMs,
    ({ count }) => {
      others += count
    },
  )
  return {
    others: () => others,
    beginMessage(): void {
      message++
    },
    count(key: string, create: () => Row, at: number, example: Example): Row | null {
      let counted = rows.get(key)
      if (counted === undefined) {
        const recent = new RollingCounter()
        counted = { row: create(), recent, firstAt: at, count: 0, lastAt: at, example, message: 0 }
        if (!rows.add(key, counted, at)) {
          others++
          return null
        }
      }
      if (counted.message === message) return counted.row
      counted.message = message
      counted.recent.count(at)
      counted.count++
      counted.lastAt = at
      counted.example = example
      return counted.row
    },
    list: (at: number): readonly (Row & RowCounts<Example>)[] =>
      rows.values().map(({ row, recent, firstAt, count, lastAt, example }) => ({
        ...row,
        ...{ count, recent: recent.countWithin(at, recentRowMs), firstAt, lastAt, example },
      })),
  }
}

export interface RowCounts<Example> {
  readonly count: number
  readonly recent: number
  readonly firstAt: number
  readonly lastAt: number
  readonly example: Example
}

export const recentRowMs = 300_000

/** The other members are from the latest row. */
export const mergeRowCounts = <Row extends RowCounts<unknown>>(same: NonEmpty<Row>): Row => ({
  ...same.reduce((last, row) => (row.lastAt > last.lastAt ? row : last)),
  count: sum(pluck(same, 'count')),
  recent: sum(pluck(same, 'recent')),
  firstAt: Math.min(...same.map(({ firstAt }) => firstAt)),
})

export const keepWorstRows = <Row extends RowCounts<unknown>>(
  rows: readonly Row[],
  max: number,
  others: readonly number[],
): { readonly rows: readonly Row[]; readonly others: number } => {
  const sorted = rows.toSorted(worstRowFirst)
  return { rows: sorted.slice(0, max), others: sum([...others, ...sorted.slice(max).map(({ count }) => count)]) }
}

export const worstRowFirst = (a: RowCounts<unknown>, b: RowCounts<unknown>): number =>
  b.recent - a.recent || b.count - a.count || b.lastAt - a.lastAt
