import { copyText } from '../../../core/lib/buffers.ts'
import type { HistogramReport } from '../../../core/log/metrics/histogram.ts'
import { mergeBy, type NonEmpty, sum, sumReports } from '../../../core/log/sum-reports.ts'
import type { TotalReport } from '../../../core/runtime/status/status-part.ts'
import { byGroup, groups, type OperationId, type Side } from '../../../operations.ts'
import { keepWorstRows, mergeRowCounts, type RowCounts } from '../../contract/counted-rows.ts'
import type { ComparisonView, DifferenceView } from '../status/describe-comparison.ts'
import type { Difference } from './compare/comparison.ts'
import { type DifferenceKind, differenceKey } from './shadow-kinds.ts'

type NoiseRow = Omit<ComparisonView['noise'][number], 'of'>

export type DifferencePlace = Omit<NoiseRow, 'count'>

export type DifferenceExample = Pick<DifferenceView, 'requestId'>

type ValuePairs = Pick<DifferenceView, 'pairs' | 'otherPairs'>

/** Digests show only which pairs are equal: their key is new at each start. */
export type DifferenceRow = DifferencePlace & RowCounts<DifferenceExample> & ValuePairs

export interface ComparisonTotals extends Omit<ComparisonView['operations'][number], 'latency'> {
  readonly latency: Readonly<Record<Side, HistogramReport>>
}

export interface ComparisonReport {
  /** Of the compared sides and the rules. Another digest starts new counts. */
  readonly digest: string
  readonly since: number
  readonly totals: readonly ComparisonTotals[]
  readonly rows: readonly DifferenceRow[]
  readonly others: number
  readonly noise: readonly NoiseRow[]
}

export const maxDifferenceRows = 200

export const maxValuePairs = 8

/** Rarer differences of the primary itself are shown beside the row, not ignored. */
const leastNoiseShare = 0.02

export const isNoise = (count: number, noisePairs: number): boolean =>
  count > 0 && count >= noisePairs * leastNoiseShare

export const placeKey = (place: DifferencePlace): string => `${place.operation} ${differenceKey(place)}`

export const mergeComparisonReports = (digest: string, each: readonly ComparisonReport[]): ComparisonReport => {
  const same = each.filter((one) => one.digest === digest)
  const totals = same.flatMap((one) => one.totals)
  const rows = same.flatMap((one) => one.rows)
  const noise = same.flatMap((one) => one.noise)
  const others = same.map((one) => one.others)
  return {
    digest,
    since: Math.min(...same.map(({ since }) => since)),
    totals: mergeBy(
      totals,
      ({ operation }) => operation,
      (all) => sumReports(all[0], all),
    ),
    ...keepWorstRows(mergeBy(rows, placeKey, mergeRows), maxDifferenceRows, others),
    noise: mergeBy(noise, placeKey, sumCounts),
  }
}

/** Of a process that has ended. */
export const withoutRecentDifferences = (report: ComparisonReport): ComparisonReport => ({
  ...report,
  totals: report.totals.map((totals) => ({ ...totals, recent: { compared: 0, equal: 0 }, noisePairsMissing: 0 })),
  rows: report.rows.map((row) => ({ ...row, recent: 0 })),
})

export const keepFrequentPairs = ({ pairs, otherPairs }: ValuePairs): ValuePairs => {
  const sorted = pairs.toSorted((a, b) => b.count - a.count)
  const rare = sorted.splice(maxValuePairs)
  return { pairs: sorted, otherPairs: otherPairs + sum(rare.map(({ count }) => count)) }
}

const sumCounts = <T extends { readonly count: number }>(all: NonEmpty<T>): T => ({
  ...all[0],
  count: sum(all.map(({ count }) => count)),
})

const mergeRows = (same: NonEmpty<DifferenceRow>): DifferenceRow => {
  const pairs = same.toSorted((a, b) => b.lastAt - a.lastAt).flatMap((row) => row.pairs)
  const otherPairs = sum(same.map((row) => row.otherPairs))
  const merged = mergeBy(pairs, ({ digest }) => digest, sumCounts)
  return { ...mergeRowCounts(same), ...keepFrequentPairs({ pairs: merged, otherPairs }) }
}

const comparisonTables: TotalReport<ComparisonReport> = {
  name: 'comparison',
  list: ({ upstreams }) =>
    groups.flatMap((group) => {
      const comparison = upstreams[group].candidate?.comparison ?? null
      return comparison === null ? [] : [[group, comparison]]
    }),
  replace: (report, of, comparison) => ({
    ...report,
    upstreams: byGroup((group) => {
      const { candidate, ...upstream } = report.upstreams[group]
      return { ...upstream, candidate: group === of && candidate !== null ? { ...candidate, comparison } : candidate }
    }),
  }),
  merge: mergeComparisonReports,
  settle: withoutRecentDifferences,
}

export const totals: readonly TotalReport[] = [comparisonTables]

// Before the first comparison.
const firstNoisePairs = 5

// After the first comparison.
const repeatedShare = 0.01

// A request whose repeat fails teaches nothing, so others are tried.
const maxFirstRepeats = 2 * firstNoisePairs

/** More would leave too little to compare. */
export const maxNoisePlaces = 200

// A fault of the primary, which must be seen.
const neverNoise: ReadonlySet<DifferenceKind> = new Set(['failure', 'status', 'content-type', 'unreadable'])

/** Differences between two responses of the primary to one request: times, ids, unordered lists. */
export const createNoise = (operation: OperationId) => {
  const places = new Map<string, DifferencePlace & { count: number }>()
  let [pairs, repeats] = [0, 0]
  const pairsMissing = (): number => Math.max(0, firstNoisePairs - pairs)
  const isLearned = (): boolean => pairsMissing() === 0
  return {
    pairs: () => pairs,
    pairsMissing,
    isLearned,
    rows: (): readonly NoiseRow[] => [...places.values()].map((row) => ({ ...row })),
    wantsRepeat: () => (!isLearned() && repeats < maxFirstRepeats) || Math.random() < repeatedShare,
    /** Called when a repeat is sent: a dropped repeat is no attempt. */
    countRepeat(): void {
      repeats++
    },
    learn(differences: readonly Difference[]): void {
      if (differences.some(({ kind }) => neverNoise.has(kind))) return
      pairs++
      for (const { kind, pointer } of differences) {
        const key = differenceKey({ kind, pointer })
        const known = places.get(key)
        if (known !== undefined) known.count++
        else if (places.size < maxNoisePlaces)
          places.set(key, { operation, kind, pointer: copyText(pointer), count: 1 })
      }
    },
    has(key: string): boolean {
      const place = places.get(key)
      return place !== undefined && isNoise(place.count, pairs)
    },
  }
}
