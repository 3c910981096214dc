export type HistogramReport = Histogram['report']

const steps = [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8] as const
const decades = [0.1, 1, 10, 100, 1000, 10_000] as const

/** Inclusive, in ms. With ten a decade, an interpolated quantile is off by an eighth at most. */
export const bucketBoundsMs: readonly number[] = decades.flatMap((decade) => steps.map((step) => step * decade))

// With all sixty, Prometheus would get sixty series three times for each operation.
const exportedBoundsMs: readonly number[] = [
  0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000,
]

/** Indexes into {@link bucketBoundsMs}, and values in seconds (`le`). */
export const exportedBounds = bucketBoundsMs.flatMap((ms, at) =>
  exportedBoundsMs.includes(ms) ? [{ at, le: ms / 1000 }] : [],
)

export class Histogram {
  /** The last one counts durations above all bounds. */
  readonly #counts: number[] = new Array(bucketBoundsMs.length + 1).fill(0)
  #sumMs = 0

  observe(ms: number): void {
    this.#sumMs += ms
    const at = bucketIndex(ms)
    this.#counts[at] = (this.#counts[at] as number) + 1
  }

  get report() {
    return { counts: [...this.#counts], sumMs: this.#sumMs }
  }
}

export const bucketIndex = (ms: number): number => {
  let low = 0
  let high = bucketBoundsMs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (ms <= (bucketBoundsMs[middle] as number)) high = middle
    else low = middle + 1
  }
  return low
}

export const histogramDelta = (later: HistogramReport, earlier: HistogramReport): HistogramReport => ({
  counts: later.counts.map((count, i) => Math.max(0, count - (earlier.counts[i] ?? 0))),
  sumMs: Math.max(0, later.sumMs - earlier.sumMs),
})

/** In ms (0.99: the slowest hundredth is above it). Null: no durations. */
export const quantile = ({ counts }: HistogramReport, share: number): number | null => {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = share * total
  let below = 0
  for (const [i, count] of counts.entries()) {
    if (count === 0 || below + count < rank) {
      below += count
      continue
    }
    const from = i === 0 ? 0 : (bucketBoundsMs[i - 1] as number)
    const to = bucketBoundsMs[i] ?? from // nothing is known above the last bound
    return Math.min(to, from + ((to - from) * (rank - below)) / count) // a sum of floats may be a trifle more
  }
  return bucketBoundsMs.at(-1) as number
}
