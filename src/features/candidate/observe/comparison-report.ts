import { copyText } from '../../../core/lib/buffers.ts'
import type { HistogramReport } from '../../../core/log/metrics/histogram.ts'
import { mergeBy, type NonEmpty, sum, sumReports } from '../../../core/log/sum-reports.ts'
import type { TotalReport } from '../../../core/runtime/status/status-part.ts'
import { byGroup, groups, type OperationId } from '../../../operations.ts'
import { keepWorstRows, mergeRowCounts, type RowCounts } from '../../contract/counted-rows.ts'
import { type Difference, type DifferenceKind, differenceKey, type UncomparedReason } from './compare/comparison.ts'

/** What is looked for in the logs of both upstreams: a request whose answers differ. */
export interface DifferenceExample {
  /** Null: no field carries one. */
  readonly requestId: string | null
}

export interface ValuePairCount {
  /** The digest of the two, keyed anew at each start: it says which pairs are the same, and nothing else. */
  readonly digest: string
  readonly count: number
  /** The last request of it. Null: no field carries an id. */
  readonly requestId: string | null
  /** Null: they are values, and the configuration asks for no examples. */
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
  /** How many answers had further pairs. */
  readonly otherPairs: number
}

/** A place where two answers of the primary to one request differed. */
export interface NoiseRow extends DifferencePlace {
  /** In how many pairs of its answers. */
  readonly count: number
}

export interface ComparisonTotals {
  readonly operation: OperationId
  readonly compared: number
  readonly equal: number
  /** Those of the last five minutes. */
  readonly recent: { readonly compared: number; readonly equal: number }
  /** Of those that differ, how many do so in each way. */
  readonly byKind: Readonly<Record<DifferenceKind, number>>
  readonly uncompared: Readonly<Record<UncomparedReason, number>>
  /** How many pairs of the primary's own answers the noise is learnt from. */
  readonly noisePairs: number
  /** How many more it takes before anything is compared: each process learns by itself. */
  readonly noisePairsMissing: number
  /** From the sending of the request to the head of the answer, where both sides have answered. */
  readonly latency: { readonly primary: HistogramReport; readonly candidate: HistogramReport }
}

/** What processes know of how a candidate answers beside its primary, as plain data. */
export interface ComparisonReport {
  /** The digest of what is compared, and how: another one begins anew. */
  readonly digest: string
  /** When it began, in milliseconds since the epoch. */
  readonly since: number
  /** The operations of which there was a pair. */
  readonly totals: readonly ComparisonTotals[]
  /** The worst first. */
  readonly rows: readonly DifferenceRow[]
  /** How often answers differed in further ways. */
  readonly others: number
  readonly noise: readonly NoiseRow[]
}

/** So many rows are kept; further ways are only counted. */
export const maxDifferenceRows = 200

/** So many pairs of values are told apart at each place. */
export const maxValuePairs = 8

/** What differs in fewer of the primary's own pairs is no noise, but said beside the row. */
const leastNoiseShare = 0.02

/** Tells whether a place counts as noise, by the pairs of the primary's own answers that differ there. */
export const isNoise = (count: number, noisePairs: number): boolean =>
  count > 0 && count >= noisePairs * leastNoiseShare

export const placeKey = (place: DifferencePlace): string => `${place.operation} ${differenceKey(place)}`

/** Merges what several processes know of the comparison with that digest; reports on another one are left out. */
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

/** Returns what stays of a process that has ended: nothing of it is recent. */
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
      // The first of a pair is the one whose request is told.
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

// So many pairs of the primary's own answers come before the first comparison.
const firstNoisePairs = 5

// The share of the requests that are sent to the primary twice afterwards.
const repeatedShare = 0.01

// A request that fails the second time teaches nothing: others are tried.
const maxFirstRepeats = 2 * firstNoisePairs

/** An operation where more differs from one answer to the next has no comparison worth its name. */
export const maxNoisePlaces = 200

// What the primary answers otherwise in these ways is a fault of its own, and none to be overlooked.
const neverNoise: ReadonlySet<DifferenceKind> = new Set(['failure', 'status', 'content-type', 'unreadable'])

/** What differs between two answers of the primary to one request: times, ids, what comes in any order. */
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

  /** How many more it takes before anything is compared. */
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

  /** Counts a request that is sent to the primary twice: one that does not come so far is no trial. */
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
