import { mergeRequestMetrics, type RequestMetricsReport, withoutGauges } from '../../observe/metrics/request-metrics.ts'
import {
  collectCounters,
  isEndpointCounter,
  type ReportCounters,
  sumCounters,
  withCounters,
} from '../../runtime/report/report-counters.ts'
import type { StatusReport } from '../../runtime/report/status-report.ts'
import type { WorkerCallResults } from '../ipc/messages.ts'

/** Is what one worker has counted, or several. */
interface CounterTotals {
  /** Null: nothing of exchanges is counted. */
  readonly meter: RequestMetricsReport | null
  readonly counts: ReportCounters
  readonly droppedLines: number
}

/** Keeps what workers had counted when they last said so, of those too that are gone or do not answer just now: no count goes back. */
export class CumulativeCounters<Worker extends object> {
  readonly #latest = new Map<Worker, CounterTotals>()
  #retired: CounterTotals = { meter: null, counts: new Map(), droppedLines: 0 }
  /** What the last report counted; an endpoint that is in none any more is not kept for ever. */
  #reported: ReadonlySet<string> = new Set()

  /** Takes what a worker says. */
  update(worker: Worker, { report, droppedLines }: Pick<WorkerCallResults['report'], 'report' | 'droppedLines'>): void {
    // Nothing is counted any more, or not yet again: what was stays.
    const meter = report.requestMetrics ?? this.#latest.get(worker)?.meter ?? null
    this.#latest.set(worker, { meter, counts: collectCounters(report), droppedLines })
  }

  /** Keeps what one has counted that is gone. */
  retire(worker: Worker): void {
    const last = this.#latest.get(worker)
    if (last === undefined) return
    // What workers disagree about, while an edit is under way, stands in no report just now.
    const reportedNow = new Set([...this.#latest.values()].flatMap(({ counts }) => [...counts.keys()]))
    this.#latest.delete(worker)
    const stays = (what: string): boolean =>
      !isEndpointCounter(what) || this.#reported.has(what) || reportedNow.has(what)
    const meters = [this.#retired.meter, last.meter && withoutGauges(last.meter)].filter((each) => each !== null)
    const counts = [...sumCounters([this.#retired.counts, last.counts])].filter(([what]) => stays(what))
    this.#retired = {
      meter: mergeRequestMetrics(meters),
      counts: new Map(counts),
      droppedLines: this.#retired.droppedLines + last.droppedLines,
    }
  }

  /** Has a report of all tell what all have counted; `primary` is what this process knows. */
  mergeInto(merged: StatusReport, primary: StatusReport): StatusReport {
    const each = [this.#retired, ...this.#latest.values()]
    const meters = each.flatMap(({ meter }) => meter ?? [])
    const counts = sumCounters([collectCounters(primary), ...each.map((one) => one.counts)])
    this.#reported = new Set(collectCounters(merged).keys())
    return {
      ...withCounters(merged, counts),
      requestMetrics: merged.requestMetrics && (mergeRequestMetrics(meters) ?? merged.requestMetrics),
    }
  }

  /** Counts the log lines that workers dropped. */
  get droppedLines(): number {
    return [...this.#latest.values()].reduce((sum, { droppedLines }) => sum + droppedLines, this.#retired.droppedLines)
  }
}
