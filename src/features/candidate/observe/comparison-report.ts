import { copyText } from '../../../core/lib/buffers.ts'
import type { HistogramReport } from '../../../core/log/metrics/histogram.ts'
import { mergeBy, type NonEmpty, sum, sumReports } from '../../../core/log/sum-reports.ts'
import type { TotalReport } from '../../../core/runtime/status/status-part.ts'
import { byGroup, groups, type OperationId } from '../../../operations.ts'
import { keepWorstRows, mergeRowCounts, type RowCounts } from '../../contract/counted-rows.ts'
import { type Difference, type DifferenceKind, differenceKey, type UncomparedReason } from './compare/comparison.ts'

/** A request to look up in the logs of both upstreams. */
export interface DifferenceExample {
  /** Null: no field carries the request id. */
  readonly requestId: string | null
}

export interface ValuePairCount {
  /** Keyed anew at each start: only shows equal pairs. */
  readonly digest: string
  readonly count: number
  /** The latest request. Null: no field carries its id. */
  readonly requestId: string | null
  /** Null: needs `compare.examples`. */
  readonly values: { readonly primary: string; readonly candidate: string } | null
}

export interface DifferencePlace {
  readonly operation: OperationId
  readonly kind: DifferenceKind
  /** As in {@link Difference}. */
  readonly pointer: string
}

export interface DifferenceRow extends DifferencePlace, RowCounts<DifferenceExample> {
  /** The most frequent first. */
  readonly pairs: readonly ValuePairCount[]
  /** Responses with unlisted pairs. */
  readonly otherPairs: number
}

/** Where two responses of the primary to one request differed. */
export interface NoiseRow extends DifferencePlace {
  /** Pairs of the primary's responses. */
  readonly count: number
}

export interface ComparisonTotals {
  readonly operation: OperationId
  readonly compared: number
  readonly equal: number
  /** In the last five minutes. */
  readonly recent: { readonly compared: number; readonly equal: number }
  /** By kind; one response may count for several. */
  readonly byKind: Readonly<Record<DifferenceKind, number>>
  readonly uncompared: Readonly<Record<UncomparedReason, number>>
  /** Noise was learned from these pairs of the primary's responses. */
  readonly noisePairs: number
  /** Before the first comparison; each process learns separately. */
  readonly noisePairsMissing: number
  /** Until the head, where both sides responded. */
  readonly latency: { readonly primary: HistogramReport; readonly candidate: HistogramReport }
}

export interface ComparisonReport {
  /** The digest of the compared sides and the rules. Another digest starts new counts. */
  readonly digest: string
  /** Milliseconds since the epoch. */
  readonly since: number
  /** The operations with at least one pair. */
  readonly totals: readonly ComparisonTotals[]
  /** The worst first. */
  readonly rows: readonly DifferenceRow[]
  /** Differences beyond the listed rows. */
  readonly others: number
  readonly noise: readonly NoiseRow[]
}

/** Beyond 200 rows, differences are only counted. */
export const maxDifferenceRows = 200

/** For each place. */
export const maxValuePairs = 8

/** Rarer differences of the primary itself are shown beside the row, not ignored. */
const leastNoiseShare = 0.02

/** `count`: the primary's own pairs that differ there. */
export const isNoise = (count: number, noisePairs: number): boolean =>
  count > 0 && count >= noisePairs * leastNoiseShare

export const placeKey = (place: DifferencePlace): string => `${place.operation} ${differenceKey(place)}`

/** Reports with another digest are left out. */
export const mergeComparisonReports = (digest: string, each: readonly ComparisonReport[]): ComparisonReport => {
  const same = each.filter((one) => one.digest === digest)
  const rows = mergeBy(
    same.flatMap((one) => one.rows),
    placeKey,
    mergeRows,
  )
  return {
    digest,
    since: Math.min(...same.map(({ since }) => since)),
    totals: mergeBy(
      same.flatMap(({ totals }) => totals),
      ({ operation }) => operation,
      (all) => sumReports(all[0], all),
    ),
    ...keepWorstRows(
      rows,
      maxDifferenceRows,
      same.map(({ others }) => others),
    ),
    noise: mergeBy(
      same.flatMap(({ noise }) => noise),
      placeKey,
      (all) => ({ ...all[0], count: sum(all.map(({ count }) => count)) }),
    ),
  }
}

/** Of a process that has ended. */
export const withoutRecentDifferences = (report: ComparisonReport): ComparisonReport => ({
  ...report,
  totals: report.totals.map((totals) => ({ ...totals, recent: { compared: 0, equal: 0 }, noisePairsMissing: 0 })),
  rows: report.rows.map((row) => ({ ...row, recent: 0 })),
})

export const keepFrequentPairs = (
  pairs: readonly ValuePairCount[],
  otherPairs: number,
): Pick<DifferenceRow, 'pairs' | 'otherPairs'> => {
  const sorted = pairs.toSorted((a, b) => b.count - a.count)
  return {
    pairs: sorted.slice(0, maxValuePairs),
    otherPairs: otherPairs + sum(sorted.slice(maxValuePairs).map(({ count }) => count)),
  }
}

const mergeRows = (same: NonEmpty<DifferenceRow>): DifferenceRow => ({
  ...mergeRowCounts(same),
  ...keepFrequentPairs(
    mergeBy(
      // The latest row first, whose request is kept.
      same.toSorted((a, b) => b.lastAt - a.lastAt).flatMap(({ pairs }) => pairs),
      ({ digest }) => digest,
      (all) => ({ ...all[0], count: sum(all.map(({ count }) => count)) }),
    ),
    sum(same.map(({ otherPairs }) => otherPairs)),
  ),
})

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

/** Between two responses of the primary to one request: times, ids, unordered lists. */
export class Noise {
  readonly #operation: OperationId
  readonly #places = new Map<string, { readonly place: Omit<NoiseRow, 'count'>; count: number }>()
  #pairs = 0
  #repeats = 0

  constructor(operation: OperationId) {
    this.#operation = operation
  }

  get pairs(): number {
    return this.#pairs
  }

  /** Before the first comparison. */
  get pairsMissing(): number {
    return Math.max(0, firstNoisePairs - this.#pairs)
  }

  get isLearnt(): boolean {
    return this.pairsMissing === 0
  }

  get rows(): readonly NoiseRow[] {
    return [...this.#places.values()].map(({ place, count }) => ({ ...place, count }))
  }

  wantsRepeat(): boolean {
    return (!this.isLearnt && this.#repeats < maxFirstRepeats) || Math.random() < repeatedShare
  }

  /** When sent: a repeat dropped earlier is no attempt. */
  countRepeat(): void {
    this.#repeats++
  }

  learn(differences: readonly Difference[]): void {
    if (differences.some(({ kind }) => neverNoise.has(kind))) return
    this.#pairs++
    for (const { kind, pointer } of differences) {
      const key = differenceKey({ kind, pointer })
      const known = this.#places.get(key)
      if (known !== undefined) known.count++
      else if (this.#places.size < maxNoisePlaces)
        this.#places.set(key, { place: { operation: this.#operation, kind, pointer: copyText(pointer) }, count: 1 })
    }
  }

  readonly has = (key: string): boolean => {
    const place = this.#places.get(key)
    return place !== undefined && isNoise(place.count, this.#pairs)
  }
}
