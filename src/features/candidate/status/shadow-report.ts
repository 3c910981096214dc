import type { AdminContext } from '../../../core/admin/admin-context.ts'
import { epochMs } from '../../../core/lib/clock.ts'
import {
  asList,
  asNullable,
  asNumber,
  asNumbers,
  asObject,
  asText,
  asWord,
  type Decoded,
} from '../../../core/lib/text/decode.ts'
import { formatTime } from '../../../core/lib/text/format-time.ts'
import { roundToTenths } from '../../../core/lib/text/units.ts'
import { type HistogramReport, quantile } from '../../../core/log/metrics/histogram.ts'
import type { StatusReport } from '../../../core/runtime/status/report.ts'
import { comparedMembers, shadowShape, sumComparison } from '../../../core/runtime/status/upstreams.ts'
import { type Group, groups, type OperationId } from '../../../operations.ts'
import { type DifferenceKind, zeroDifferences, zeroUncompared } from '../observe/compare/comparison.ts'
import {
  type ComparisonReport,
  type DifferencePlace,
  type DifferenceRow,
  isNoise,
  placeKey,
} from '../observe/comparison-report.ts'
import { describeComparison } from './describe-comparison.ts'

const placeMembers = {
  operation: asWord<OperationId>(),
  kind: asWord<DifferenceKind>(),
  /** With `*` for each index, and for a name that looks like data; of `field` its name. Empty: the whole. */
  pointer: asText,
}

/** Values are in it only where the file asks for examples. */
const differenceShape = asObject({
  ...placeMembers,
  count: asNumber,
  /** Those of the last five minutes. */
  recent: asNumber,
  firstAt: asText,
  lastAt: asText,
  /** Of the last one; null: no field carries one. */
  requestId: asNullable(asText),
  /** In how many pairs of the primary's own answers it differed too: too rarely to be noise. */
  noise: asNumber,
  /** The pairs of values there, the most frequent first. */
  pairs: asList(
    asObject({
      digest: asText,
      count: asNumber,
      requestId: asNullable(asText),
      /** Null: a value, and the file does not ask for examples. */
      primary: asNullable(asText),
      candidate: asNullable(asText),
    }),
  ),
  otherPairs: asNumber,
})

export type DifferenceView = Decoded<typeof differenceShape>

/** Decodes how long a side took to the head, in milliseconds; null: nothing is known. */
const latencyShape = asObject({ p50: asNullable(asNumber), p95: asNullable(asNumber), p99: asNullable(asNumber) })

const comparedOperationShape = asObject({
  operation: asWord<OperationId>(),
  ...comparedMembers,
  byKind: asObject(asNumbers(zeroDifferences)),
  uncompared: asObject(asNumbers(zeroUncompared)),
  /** From how many pairs of the primary's own answers its noise is learnt. */
  noisePairs: asNumber,
  noisePairsMissing: asNumber,
  latency: asObject({ primary: latencyShape, candidate: latencyShape }),
})

export const comparisonShape = asObject({
  group: asWord<Group>(),
  verdict: asText,
  since: asText,
  ...comparedMembers,
  shadow: shadowShape,
  operations: asList(comparedOperationShape),
  /** The worst first. */
  rows: asList(differenceShape),
  /** How many rows there are; the page has the worst of them. */
  ways: asNumber,
  /** How often answers differed in further ways. */
  others: asNumber,
  /** The places that are not compared, because the primary's own answers differ there. */
  noise: asList(asObject({ ...placeMembers, count: asNumber, of: asNumber })),
})

export type ComparisonView = Decoded<typeof comparisonShape>

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

const toLatency = (histogram: HistogramReport): Decoded<typeof latencyShape> => {
  const at = (share: number): number | null => {
    const ms = quantile(histogram, share)
    return ms === null ? null : roundToTenths(ms)
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}
