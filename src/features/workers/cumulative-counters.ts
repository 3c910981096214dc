import {
  mergeRequestMetrics,
  type RequestMetricsReport,
  withoutGauges,
} from '../../core/log/metrics/request-metrics.ts'
import { mergeLastErrors, type RecentErrorsReport } from '../../core/log/recent-errors.ts'
import { mergeBy, pluck } from '../../core/log/sum-reports.ts'
import {
  collectCounters,
  type ReportCounters,
  type StatusReport,
  sumCounters,
  totalReports,
  withCounters,
} from '../../core/runtime/status/report.ts'
import type { TableWithDigest, TotalReport } from '../../core/runtime/status/status-part.ts'
import { isEndpointCounter } from '../../core/runtime/status/upstreams.ts'
import type { WorkerCallResults } from './messages.ts'

/** The counters of one worker, or of several. */
interface CounterTotals {
  /** Null: metrics are off. */
  readonly requestMetrics: RequestMetricsReport | null
  readonly tables: Tables
  readonly counts: ReportCounters
  /** The last errors, which their total counts. */
  readonly lastErrors: RecentErrorsReport['last']
  readonly droppedLines: number
}

/** The tables that features count, by what they are of; of several digests while one follows another. */
type Tables = ReadonlyMap<string, readonly TableWithDigest[]>

/** The last counters of all workers, also of those that have ended or do not reply just now: no counter goes back. */
export class CumulativeCounters<Worker extends object> {
  readonly #latest = new Map<Worker, CounterTotals>()
  #retired: CounterTotals = {
    requestMetrics: null,
    tables: new Map(),
    counts: new Map(),
    lastErrors: [],
    droppedLines: 0,
  }

  update(worker: Worker, { report, droppedLines }: Pick<WorkerCallResults['report'], 'report' | 'droppedLines'>): void {
    const last = this.#latest.get(worker)
    // Without metrics, or before they are back after an edit, the last ones stay.
    const requestMetrics = report.requestMetrics ?? last?.requestMetrics ?? null
    const tables = collectTables(report)
    const counts = new Map(collectCounters(report))
    const ended = new Map<string, number>()
    for (const [name, count] of last?.counts ?? []) {
      // What is switched off is in no report, and may go on when it is back. An endpoint that is gone is closed.
      if (!counts.has(name) && !isEndpointCounter(name)) counts.set(name, count)
      // What an edit opens anew begins at 0 under the same name: an endpoint with other settings of its connections.
      else if ((counts.get(name) ?? 0) < count) ended.set(name, count)
    }
    const lastErrors = report.recentErrors.last
    this.#latest.set(worker, { requestMetrics, tables, counts, lastErrors, droppedLines })
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
      tables: retireTables(this.#retired.tables, last.tables),
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
    const counts = sumCounters([collectCounters(primary), ...each.map((one) => one.counts)])
    // The primary has counted nothing in tables, but knows since when.
    const tables = [collectTables(primary), ...each.map((one) => one.tables)]
    const withCounts = mergeTables(withCounters(merged, counts), tables)
    return {
      ...withCounts,
      requestMetrics: merged.requestMetrics && (mergeRequestMetrics(metrics) ?? merged.requestMetrics),
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
    const current = collectTables(primary)
    const forget = (totals: CounterTotals): CounterTotals => ({
      ...totals,
      tables: new Map(
        [...totals.tables].map(([name, tables]) => [
          name,
          tables.filter((one) => current.get(name)?.some(({ digest }) => one.digest === digest)),
        ]),
      ),
    })
    this.#retired = forget(this.#retired)
    for (const [worker, totals] of this.#latest) this.#latest.set(worker, forget(totals))
  }
}

const nameOf = ({ name }: TotalReport, of: string): string => `${name} ${of}`

const collectTables = (report: StatusReport): Tables =>
  new Map(totalReports.flatMap((total) => total.list(report).map(([of, table]) => [nameOf(total, of), [table]])))

/** Merges the tables of each digest. */
const retireTables = (retired: Tables, last: Tables): Tables =>
  new Map(
    totalReports.flatMap(({ name, merge, settle }) =>
      [...new Set([...retired.keys(), ...last.keys()])]
        .filter((key) => key.startsWith(`${name} `))
        .map((key) => {
          const known = [...(retired.get(key) ?? []), ...(last.get(key) ?? []).map(settle)]
          const merged = mergeBy(
            known,
            ({ digest }) => digest,
            (same) => merge(same[0].digest, same),
          )
          return [key, merged] as const
        }),
    ),
  )

const mergeTables = (merged: StatusReport, each: readonly Tables[]): StatusReport =>
  totalReports.reduce(
    (report, total) =>
      total.list(merged).reduce((next, [of, { digest }]) => {
        const known = each.flatMap((tables) => tables.get(nameOf(total, of)) ?? [])
        return total.replace(next, of, total.merge(digest, known))
      }, report),
    merged,
  )
