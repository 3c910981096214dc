import { boundsMs, type HistogramReport } from '../../observe/metrics/histogram.ts'
import type { Distribution } from './exposition.ts'

// Some of the bounds that are counted by: of all sixty, each operation would have sixty series three times.
const shownMs: readonly number[] = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]

const shown = boundsMs.flatMap((ms, at) => (shownMs.includes(ms) ? [{ at, le: ms / 1000 }] : []))

/** Makes of what was counted in milliseconds what Prometheus takes, in seconds. Exact: a bound that is shown is one that was counted by. */
export const distribution = ({ counts, sumMs }: HistogramReport): Distribution => {
  let below = 0
  const cumulative = counts.map((count) => {
    below += count
    return below
  })
  return { buckets: shown.map(({ at, le }) => ({ le, count: cumulative[at] ?? 0 })), sum: sumMs / 1000, count: below }
}
