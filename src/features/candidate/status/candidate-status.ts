import type { AdminContext } from '../../../core/admin/admin-context.ts'
import { epochMs } from '../../../core/lib/clock.ts'
import { asList, asNullable, asObject, asText } from '../../../core/lib/text/decode.ts'
import { formatTime } from '../../../core/lib/text/format-time.ts'
import { roundToTenths } from '../../../core/lib/text/units.ts'
import { type HistogramReport, quantile } from '../../../core/log/metrics/histogram.ts'
import { sum } from '../../../core/log/sum-reports.ts'
import * as field from '../../../core/runtime/status/field.ts'
import { collectSide, sideMembers } from '../../../core/runtime/status/side.ts'
import type { GroupSection, StatusReport } from '../../../core/runtime/status/status-part.ts'
import { type Group, groups } from '../../../operations.ts'
import {
  type ComparisonReport,
  type DifferenceRow,
  isNoise,
  mergeComparisonReports,
  placeKey,
} from '../observe/comparison-report.ts'
import { shiftField } from '../shift/shift-state.ts'
import {
  type ComparisonView,
  comparedMembers,
  comparisonShape,
  type DifferenceView,
  describeComparison,
  shadowField,
} from './describe-comparison.ts'

/** `since` null: an earlier version. */
const comparedShape = asObject({ ...comparedMembers, since: asNullable(asText) })

export const sumComparison = (totals: ComparisonReport['totals']) => {
  const add = (all: readonly Readonly<Record<'compared' | 'equal', number>>[]) => ({
    compared: sum(all.map(({ compared }) => compared)),
    equal: sum(all.map(({ equal }) => equal)),
  })
  return { ...add(totals), recent: add(totals.map(({ recent }) => recent)) }
}

const candidateField = field.record({
  ...sideMembers,
  shadow: field.nullable(shadowField),
  comparison: field.nullable(
    field.shownAs(
      comparedShape,
      ({ totals, since }: ComparisonReport) => ({ ...sumComparison(totals), since: formatTime(since) }),
      (from, workers) => mergeComparisonReports(from.digest, [from, ...workers]),
    ),
  ),
  /** Null: during a reload. */
  shift: field.derived(asNullable(shiftField.decode), (_, context) => {
    const { overrides, group } = context
    const shift = group === undefined ? null : (overrides.shifts?.get(group) ?? null)
    return shift && shiftField.show(shift, context)
  }),
})

const knownCandidate = field.nullable(candidateField)

export type CandidateReport = field.Reported<typeof candidateField>

declare module '../../../core/runtime/status/upstreams.ts' {
  interface UpstreamReport {
    readonly candidate: CandidateReport | null
  }
  interface UpstreamStatus {
    readonly candidate: field.Shown<typeof knownCandidate>
  }
}

/** Null: no candidate, or during a reload some workers do not know of it. */
const candidate: typeof knownCandidate = {
  ...knownCandidate,
  merge: (from, workers) => (from === null || workers.includes(null) ? null : knownCandidate.merge(from, workers)),
}

export const ofGroup: readonly GroupSection[] = [
  {
    key: 'candidate',
    field: candidate,
    collect({ config, parts: { candidate } }, group): CandidateReport | null {
      const running = candidate?.others[group] ?? null
      if (candidate === undefined || running === null) return null
      return {
        ...collectSide(running),
        shadow: config.upstreams[group].candidate?.shadow ? candidate.copies[group].report() : null,
        comparison: candidate.comparisons[group]?.report ?? null,
      }
    },
  },
]

export { totals } from '../observe/comparison-report.ts'

export const shadowReportShape = asObject({ at: asText, comparisons: asList(comparisonShape) })

export const getShadowReport = async ({ report }: AdminContext) => ({
  at: formatTime(epochMs()),
  comparisons: comparisonViews(await report()),
})

export const comparisonViews = (
  { upstreams }: StatusReport,
  maxRows = Number.POSITIVE_INFINITY,
): readonly ComparisonView[] =>
  groups.flatMap((group) => {
    const { comparison, shadow } = upstreams[group].candidate ?? { comparison: null, shadow: null }
    return comparison === null || shadow === null ? [] : [toView(group, comparison, shadow, maxRows)]
  })

const toView = (
  group: Group,
  { totals, rows, others, since, noise }: ComparisonReport,
  shadow: ComparisonView['shadow'],
  maxRows: number,
): ComparisonView => {
  const noisePairs = new Map(totals.map((each) => [each.operation, each.noisePairs]))
  const noiseCounts = new Map(noise.map((row) => [placeKey(row), row.count]))
  const view = {
    ...sumComparison(totals),
    operations: totals.map(({ latency: { primary, candidate }, ...counts }) => ({
      ...counts,
      latency: { primary: toLatency(primary), candidate: toLatency(candidate) },
    })),
    rows: rows.map((row) => toRow(row, noiseCounts.get(placeKey(row)) ?? 0)),
    ways: rows.length,
    others,
    noise: noise.flatMap((row) => {
      const of = noisePairs.get(row.operation) ?? 0
      return isNoise(row.count, of) ? [{ ...row, of }] : []
    }),
  }
  const verdict = describeComparison(view)
  return { group, verdict, since: formatTime(since), shadow, ...view, rows: view.rows.slice(0, maxRows) }
}

const toRow = ({ firstAt, lastAt, example, pairs, ...row }: DifferenceRow, noise: number): DifferenceView => ({
  ...row,
  firstAt: formatTime(firstAt),
  lastAt: formatTime(lastAt),
  ...example,
  noise,
  pairs,
})

const toLatency = (histogram: HistogramReport) => {
  const at = (share: number): number | null => {
    const ms = quantile(histogram, share)
    return ms === null ? null : roundToTenths(ms)
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
