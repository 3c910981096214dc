import { epochMs } from '../../core/lib/clock.ts'
import {
  mergeRequestMetrics,
  type RequestMetricsReport,
  withoutGauges,
} from '../../core/log/metrics/request-metrics.ts'
import { mergeLastErrors, type RecentErrorsReport } from '../../core/log/recent-errors.ts'
import { groupByKey, pluck } from '../../core/log/sum-reports.ts'
import {
  collectCounters,
  mergeReports,
  type ReportCounters,
  sumCounters,
  totalReports,
  withCounters,
} from '../../core/runtime/status/report.ts'
import type { StatusReport, TableWithDigest, TotalReport } from '../../core/runtime/status/status-part.ts'
import { countInFlight, isEndpointCounter } from '../../core/runtime/status/upstreams.ts'
import type { WorkerStatus } from './admin.ts'
import type { WorkerReport } from './messages.ts'
import { waitUntilLate } from './two-phase-commit.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-supervisor.ts'
import type { WorkerTimeouts } from './worker-timeouts.ts'

/** Never waits for a hung worker. */
export const createWorkerStats = (
  slots: readonly WorkerSlot[],
  timeouts: Pick<WorkerTimeouts, 'reportMs' | 'urgentReplyMs'>,
) => {
  /** Null: no reply. Missing: never asked. */
  const lastReplies = new WeakMap<WorkerProcess, WorkerReport | null>()
  const heardAt = new WeakMap<WorkerProcess, number>()
  const counters = new CumulativeCounters<WorkerProcess>()
  let pending: Promise<readonly WorkerReport[]> | null = null

  const askAll = async (): Promise<readonly WorkerReport[]> => {
    const replies = await Promise.all(
      slots.map(async ({ worker, isServing }) => {
        if (worker === null || !isServing) return null
        const reply = await worker.call('report', {}, timeouts.reportMs).catch(() => null)
        lastReplies.set(worker, reply)
        if (reply !== null) {
          heardAt.set(worker, epochMs())
          counters.update(worker, reply)
        }
        return reply
      }),
    )
    return replies.filter((reply) => reply !== null)
  }

  /** Reports collected meanwhile share the poll. */
  const poll = (): Promise<readonly WorkerReport[]> => {
    const polled = askAll().finally(() => {
      if (pending === polled) pending = null
    })
    return polled
  }

  const knownReplies = (): readonly WorkerReport[] =>
    slots.flatMap(({ worker, isServing }) => (worker === null || !isServing ? [] : (lastReplies.get(worker) ?? [])))

  return {
    /** A worker that is silent until `urgentReplyMs` after `urgent` is shown with its last report. */
    async collect(primary: () => StatusReport, urgent?: Promise<void>): Promise<StatusReport> {
      pending ??= poll()
      const late = waitUntilLate(urgent, timeouts)
      const replies = await Promise.race([pending, late.then(knownReplies)])
      const primaryReport = primary()
      return counters.mergeInto(mergeReports(primaryReport, pluck(replies, 'report')), primaryReport)
    },
    expire(): void {
      pending = null
    },
    /** By the last replies. */
    workers: (draining: boolean): readonly WorkerStatus[] =>
      slots.map(({ number, worker, isServing, isRetired, restarts }): WorkerStatus => {
        const lastReply = worker === null ? null : lastReplies.get(worker)
        const liveState = lastReply === null ? 'not replying' : draining ? 'draining' : 'serving'
        return {
          worker: number,
          pid: worker?.pid ?? null,
          state: worker === null ? (isRetired ? 'ended' : 'waiting') : isServing ? liveState : 'starting',
          startedAt: worker?.startedAt ?? null,
          heardAt: worker === null ? null : (heardAt.get(worker) ?? null),
          restarts,
          inFlight: lastReply == null ? null : countInFlight(lastReply.report.upstreams),
          config: lastReply?.config ?? null,
        }
      }),
    droppedLines: (): number => counters.droppedLines,
    onExit: (worker: WorkerProcess): void => counters.retire(worker),
  }
}

interface CounterTotals {
  readonly requestMetrics: RequestMetricsReport | null
  readonly tables: Tables
  readonly counts: ReportCounters
  readonly lastErrors: RecentErrorsReport['last']
  readonly droppedLines: number
}

/** Counts of features, by name. A name has several digests while one replaces another. */
type Tables = ReadonlyMap<string, { readonly total: TotalReport; readonly tables: readonly TableWithDigest[] }>

/** Keeps counters of ended and silent workers, so that no counter goes back. */
export class CumulativeCounters<Worker extends object> {
  readonly #latest = new Map<Worker, CounterTotals>()
  #retired: CounterTotals = {
    requestMetrics: null,
    tables: new Map(),
    counts: new Map(),
    lastErrors: [],
    droppedLines: 0,
  }

  update(worker: Worker, { report, droppedLines }: Omit<WorkerReport, 'config'>): void {
    const last = this.#latest.get(worker)
    // Null while metrics are off.
    const requestMetrics = report.requestMetrics ?? last?.requestMetrics ?? null
    const tables = collectTables(report)
    const counts = new Map(collectCounters(report))
    const ended = new Map<string, number>()
    for (const [name, count] of last?.counts ?? []) {
      // A feature that is turned off and on continues its count; a removed endpoint does not.
      if (!counts.has(name) && !isEndpointCounter(name)) counts.set(name, count)
      // An endpoint with edited connection settings begins at 0 under the same name.
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
    const { requestMetrics, tables, counts, lastErrors, droppedLines } = this.#retired
    const metrics = [requestMetrics, last.requestMetrics && withoutGauges(last.requestMetrics)]
    this.#retired = {
      requestMetrics: mergeRequestMetrics(metrics.filter((each) => each !== null)),
      tables: retireTables(tables, last.tables),
      counts,
      lastErrors: mergeLastErrors([lastErrors, last.lastErrors]),
      droppedLines: droppedLines + last.droppedLines,
    }
  }

  #retireCounts(ended: ReportCounters): void {
    this.#retired = { ...this.#retired, counts: sumCounters([this.#retired.counts, ended]) }
  }

  mergeInto(merged: StatusReport, primary: StatusReport): StatusReport {
    this.#forgetOthers(primary)
    this.#forgetEndpoints(merged)
    const each = [this.#retired, ...this.#latest.values()]
    const metrics = each.flatMap(({ requestMetrics }) => requestMetrics ?? [])
    const counts = sumCounters([collectCounters(primary), ...each.map((one) => one.counts)])
    // The primary counts nothing in tables, but knows since when workers do.
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

  /** Forgets endpoints that no report has: a returning endpoint begins at 0. */
  #forgetEndpoints(merged: StatusReport): void {
    const reported = collectCounters(merged)
    // During a reload workers disagree, and the merged report lacks their differences.
    const latest = [...this.#latest.values()]
    const isKept = (name: string): boolean =>
      !isEndpointCounter(name) || reported.has(name) || latest.some(({ counts }) => counts.has(name))
    const counts = new Map([...this.#retired.counts].filter(([name]) => isKept(name)))
    this.#retired = { ...this.#retired, counts }
  }

  /** Forgets counts of another contract or comparison than the primary's: a change, even back, begins at 0. */
  #forgetOthers(primary: StatusReport): void {
    const current = collectTables(primary)
    const isCurrent = (name: string, { digest }: TableWithDigest): boolean =>
      current.get(name)?.tables.some((one) => one.digest === digest) === true
    const forget = (totals: CounterTotals): CounterTotals => ({
      ...totals,
      tables: new Map(
        totals.tables.entries().map(([name, { total, tables }]) => {
          return [name, { total, tables: tables.filter((one) => isCurrent(name, one)) }]
        }),
      ),
    })
    this.#retired = forget(this.#retired)
    for (const [worker, totals] of this.#latest) this.#latest.set(worker, forget(totals))
  }
}

const nameOf = ({ name }: TotalReport, of: string): string => `${name} ${of}`

const collectTables = (report: StatusReport): Tables =>
  new Map(
    totalReports.flatMap((total) =>
      total.list(report).map(([of, table]) => [nameOf(total, of), { total, tables: [table] }] as const),
    ),
  )

const retireTables = (retired: Tables, last: Tables): Tables => {
  const all = new Map(retired)
  for (const [name, { total, tables }] of last) {
    const known = [...(retired.get(name)?.tables ?? []), ...tables.map(total.settle)]
    const byDigest = groupByKey(known, ({ digest }) => digest)
    all.set(name, { total, tables: byDigest.map((same) => total.merge(same[0].digest, same)) })
  }
  return all
}

const mergeTables = (merged: StatusReport, each: readonly Tables[]): StatusReport =>
  totalReports.reduce(
    (report, total) =>
      total.list(merged).reduce((next, [of, { digest }]) => {
        const known = each.flatMap((tables) => tables.get(nameOf(total, of))?.tables ?? [])
        return total.replace(next, of, total.merge(digest, known))
      }, report),
    merged,
  )
