import type { AdminContext } from '../../../core/admin/admin-context.ts'
import { epochMs } from '../../../core/lib/clock.ts'
import { asList, asObject, asText, type Decoded } from '../../../core/lib/text/decode.ts'
import { formatTime } from '../../../core/lib/text/format-time.ts'
import { roundToTenths } from '../../../core/lib/text/units.ts'
import { type HistogramReport, quantile } from '../../../core/log/metrics/histogram.ts'
import type { StatusReport } from '../../../core/runtime/status/report.ts'
import { type Group, groups } from '../../../operations.ts'
import {
  type ComparisonReport,
  type DifferencePlace,
  type DifferenceRow,
  isNoise,
  placeKey,
} from '../observe/comparison-report.ts'
import { sumComparison } from './candidate-status.ts'
import { type ComparisonView, comparisonShape, type DifferenceView, describeComparison } from './describe-comparison.ts'

/** Decodes the response of /shadow. Times are RFC 3339. */
export const shadowReportShape = asObject({
  at: asText,
  comparisons: asList(comparisonShape),
})

export type ShadowReportView = Decoded<typeof shadowReportShape>

export const getShadowReport = async ({ report }: AdminContext): Promise<ShadowReportView> => ({
  at: formatTime(epochMs()),
  comparisons: comparisonViews(await report()),
})

export const comparisonViews = (
  { upstreams }: StatusReport,
  maxRows = Number.POSITIVE_INFINITY,
): readonly ComparisonView[] =>
  groups.flatMap((group): readonly ComparisonView[] => {
    const { comparison, shadow } = upstreams[group].candidate ?? { comparison: null, shadow: null }
    return comparison === null || shadow === null ? [] : [toView(group, comparison, shadow, maxRows)]
  })

const toView = (
  group: Group,
  report: ComparisonReport,
  shadow: ComparisonView['shadow'],
  maxRows: number,
): ComparisonView => {
  const { totals, others, since } = report
  const noisePairs = new Map(totals.map((each) => [each.operation, each.noisePairs]))
  const noise = new Map(report.noise.map((row) => [placeKey(row), row.count]))
  const view = {
    ...sumComparison(totals),
    operations: totals.map(({ latency, ...counts }) => ({
      ...counts,
      latency: { primary: toLatency(latency.primary), candidate: toLatency(latency.candidate) },
    })),
    rows: report.rows.map((row) => toRow(row, noise.get(placeKey(row)) ?? 0)),
    ways: report.rows.length,
    others,
    noise: report.noise.flatMap((row: DifferencePlace & { readonly count: number }) => {
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
  pairs: pairs.map(({ values, ...pair }) => ({
    ...pair,
    primary: values?.primary ?? null,
    candidate: values?.candidate ?? null,
  })),
})

const toLatency = (histogram: HistogramReport): ComparisonView['operations'][number]['latency']['primary'] => {
  const at = (share: number): number | null => {
    const ms = quantile(histogram, share)
    return ms === null ? null : roundToTenths(ms)
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
