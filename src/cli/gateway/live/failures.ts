import type { RefusalStatus } from '../refusals-answer.ts'

/** Is how often an operation failed in one way of late. */
export interface Failures extends Pick<RefusalStatus, 'status' | 'kind' | 'reason' | 'endpoint'> {
  readonly count: number
  /** When it did last. */
  readonly last: string
}

const withinMs = 15 * 60_000

/** Counts in which ways an operation failed within the last quarter of an hour, as far as the gateway remembers; the most frequent first. */
export const failuresOf = (refusals: readonly RefusalStatus[], id: string, at: number): readonly Failures[] => {
  const own = refusals.filter((each) => each.operation === id && at - Date.parse(each.at) <= withinMs)
  const ways = Map.groupBy(own, ({ status, kind, reason, endpoint }) =>
    JSON.stringify([status, kind, reason, endpoint]),
  )
  return [...ways.values()]
    .flatMap((same): readonly Failures[] => {
      const [newest] = same
      if (newest === undefined) return []
      const { status, kind, reason, endpoint, at: last } = newest
      return [{ status, kind, reason, endpoint, count: same.length, last }]
    })
    .toSorted((a, b) => b.count - a.count)
}
