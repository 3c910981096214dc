import {
  type ComparisonReport,
  mergeComparisonReports,
  withoutRecentDifferences,
} from '../../../../features/candidate/observe/comparison-report.ts'
import { type DriftReport, mergeDriftReports, withoutRecentDrift } from '../../../../features/contract/drift-report.ts'
import { byGroup, type Group } from '../../../../operations.ts'
import { mergeRequestMetrics, type RequestMetricsReport, withoutGauges } from '../../../log/metrics/request-metrics.ts'
import { mergeLastErrors, type RecentErrorsReport } from '../../../log/recent-errors/recent-errors.ts'
import { mergeBy } from '../../../log/row-counts.ts'
import { pluck } from '../../../log/sum-reports.ts'
import {
  collectCounters,
  type ReportCounters,
  type StatusReport,
  sumCounters,
  withCounters,
} from '../../status/report.ts'
import { isEndpointCounter } from '../../status/upstreams.ts'
import type { WorkerCallResults } from '../ipc/messages.ts'

/** The counters of one worker, or of several. */
interface CounterTotals {
  /** Null: metrics are off. */
  readonly requestMetrics: RequestMetricsReport | null
  /** What breaks the contract; of several contracts while one follows another. */
  readonly drift: readonly DriftReport[]
  /** How candidates answer beside their primaries; in several ways while one follows another. */
  readonly comparisons: Readonly<Record<Group, readonly ComparisonReport[]>>
  readonly counts: ReportCounters
  /** The last errors, which their total counts. */
  readonly lastErrors: RecentErrorsReport['last']
  readonly droppedLines: number
}

/** The last counters of all workers, also of those that have ended or do not reply just now: no counter goes back. */
export class CumulativeCounters<Worker extends object> {
  readonly #latest = new Map<Worker, CounterTotals>()
  #retired: CounterTotals = {
    requestMetrics: null,
    drift: [],
    comparisons: byGroup(() => []),
    counts: new Map(),
    lastErrors: [],
    droppedLines: 0,
  }

  update(worker: Worker, { report, droppedLines }: Pick<WorkerCallResults['report'], 'report' | 'droppedLines'>): void {
    const last = this.#latest.get(worker)
    // Without metrics, or before they are back after an edit, the last ones stay.
    const requestMetrics = report.requestMetrics ?? last?.requestMetrics ?? null
    const drift = pluck([report], 'drift')
    const comparisons = byGroup((group) => comparisonOf(report, group))
    const counts = new Map(collectCounters(report))
    const ended = new Map<string, number>()
    for (const [name, count] of last?.counts ?? []) {
      // What is switched off is in no report, and may go on when it is back. An endpoint that is gone is closed.
      if (!counts.has(name) && !isEndpointCounter(name)) counts.set(name, count)
      // What an edit opens anew begins at 0 under the same name: an endpoint with other settings of its connections.
      else if ((counts.get(name) ?? 0) < count) ended.set(name, count)
    }
    const lastErrors = report.recentErrors.last
    this.#latest.set(worker, { requestMetrics, drift, comparisons, counts, lastErrors, droppedLines })
    if (ended.size > 0) this.#retireCounts(ended)
  }

  retire(worker: Worker): void {
    const last = this.#latest.get(worker)
    if (last === undefined) return
    this.#retireCounts(last.counts)
    this.#latest.delete(worker)
    const metrics = [this.#retired.requestMetrics, last.requestMetrics && withoutGauges(last.requestMetrics)].filter(
      (each) => each !== null,
    )
    this.#retired = {
      ...this.#retired,
      requestMetrics: mergeRequestMetrics(metrics),
      drift: mergeByDigest([...this.#retired.drift, ...last.drift.map(withoutRecentDrift)], mergeDriftReports),
      comparisons: byGroup((group) =>
        mergeByDigest(
          [...this.#retired.comparisons[group], ...last.comparisons[group].map(withoutRecentDifferences)],
          mergeComparisonReports,
        ),
      ),
      lastErrors: mergeLastErrors([this.#retired.lastErrors, last.lastErrors]),
      droppedLines: this.#retired.droppedLines + last.droppedLines,
    }
  }

  #retireCounts(ended: ReportCounters): void {
    this.#retired = { ...this.#retired, counts: sumCounters([this.#retired.counts, ended]) }
  }

  /** Puts the counters of all workers into their merged report. `primary` is what this process knows. */
  mergeInto(merged: StatusReport, primary: StatusReport): StatusReport {
    this.#forgetOthers(primary)
    this.#forgetEndpoints(merged)
    const each = [this.#retired, ...this.#latest.values()]
    const metrics = each.flatMap(({ requestMetrics }) => requestMetrics ?? [])
    const drifts = each.flatMap(({ drift }) => drift)
    const counts = sumCounters([collectCounters(primary), ...each.map((one) => one.counts)])
    const withCounts = withCounters(merged, counts)
    return {
      ...withCounts,
      upstreams: byGroup((group) => {
        const { candidate, ...upstream } = withCounts.upstreams[group]
        if (candidate === null || candidate.comparison === null) return { ...upstream, candidate }
        // The primary process has compared nothing, but knows since when.
        const known = [...comparisonOf(primary, group), ...each.flatMap(({ comparisons }) => comparisons[group])]
        const comparison = mergeComparisonReports(candidate.comparison.digest, known)
        return { ...upstream, candidate: { ...candidate, comparison } }
      }),
      requestMetrics: merged.requestMetrics && (mergeRequestMetrics(metrics) ?? merged.requestMetrics),
      drift: merged.drift && mergeDriftReports(merged.drift.digest, drifts),
      recentErrors: { ...withCounts.recentErrors, last: mergeLastErrors(pluck(each, 'lastErrors')) },
    }
  }

  get droppedLines(): number {
    return [...this.#latest.values()].reduce((sum, { droppedLines }) => sum + droppedLines, this.#retired.droppedLines)
  }

  /** Forgets what was kept of endpoints that are in no report any more: they begin at 0 where they come back. */
  #forgetEndpoints(merged: StatusReport): void {
    const reported = collectCounters(merged)
    // What workers disagree about, while a reload is under way, is not in the merged report.
    const latest = [...this.#latest.values()]
    const isKept = (name: string): boolean =>
      !isEndpointCounter(name) || reported.has(name) || latest.some(({ counts }) => counts.has(name))
    const counts = new Map([...this.#retired.counts].filter(([name]) => isKept(name)))
    this.#retired = { ...this.#retired, counts }
  }

  /**
   * Forgets what was counted with another contract, or compared in another way, than the primary has: counts begin anew
   * with another one, also when the one before it comes back.
   */
  #forgetOthers(primary: StatusReport): void {
    const forget = (totals: CounterTotals): CounterTotals => ({
      ...totals,
      drift: withDigestOf(pluck([primary], 'drift'), totals.drift),
      comparisons: byGroup((group) => withDigestOf(comparisonOf(primary, group), totals.comparisons[group])),
    })
    this.#retired = forget(this.#retired)
    for (const [worker, totals] of this.#latest) this.#latest.set(worker, forget(totals))
  }
}

interface WithDigest {
  readonly digest: string
}

const withDigestOf = <Report extends WithDigest>(
  current: readonly WithDigest[],
  known: readonly Report[],
): readonly Report[] => known.filter((one) => current.some(({ digest }) => one.digest === digest))

const comparisonOf = ({ upstreams }: StatusReport, group: Group): readonly ComparisonReport[] =>
  pluck(pluck([upstreams[group]], 'candidate'), 'comparison')

/** Merges the reports of each contract, or of each way to compare. */
const mergeByDigest = <Report extends WithDigest>(
  known: readonly Report[],
  merge: (digest: string, same: readonly Report[]) => Report,
): readonly Report[] =>
  mergeBy(
    known,
    ({ digest }) => digest,
    (same) => merge(same[0].digest, same),
  )
