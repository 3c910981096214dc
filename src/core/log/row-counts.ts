import { sum } from './sum-reports.ts'

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

export type NonEmpty<T> = readonly [T, ...T[]]

/** Groups values by a key, in the order in which keys come. */
export const groupByKey = <T>(all: readonly T[], keyOf: (one: T) => string): readonly NonEmpty<T>[] =>
  [...Map.groupBy(all, keyOf).values()] as unknown as readonly NonEmpty<T>[]

export const mergeBy = <T>(
  all: readonly T[],
  keyOf: (one: T) => string,
  merge: (same: NonEmpty<T>) => T,
): readonly T[] => groupByKey(all, keyOf).map(merge)

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
