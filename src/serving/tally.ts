import { addMeters, atRest, type MeterReport } from '../observe/metrics/meter.ts'
import { addCounts, type Counts, countsOf, isOfEndpoint, withCounts } from '../snapshot/counts.ts'
import type { Report } from '../snapshot/report.ts'
import type { Answer } from './protocol.ts'

/** Is what one worker has counted, or several. */
interface Tallied {
  /** Null: nothing of exchanges is counted. */
  readonly meter: MeterReport | null
  readonly counts: Counts
  readonly droppedLines: number
}

/** Keeps what workers had counted when they last said so, of those too that are gone or do not answer just now: no count goes back. */
export class Tally<Worker extends object> {
  readonly #said = new Map<Worker, Tallied>()
  #before: Tallied = { meter: null, counts: new Map(), droppedLines: 0 }
  /** What the last report counted; an endpoint that is in none any more is not kept for ever. */
  #known: ReadonlySet<string> = new Set()

  /** Takes what a worker says. */
  note(worker: Worker, { report, droppedLines }: Pick<Answer['report'], 'report' | 'droppedLines'>): void {
    // Nothing is counted any more, or not yet again: what was stays.
    const meter = report.meter ?? this.#said.get(worker)?.meter ?? null
    this.#said.set(worker, { meter, counts: countsOf(report), droppedLines })
  }

  /** Keeps what one has counted that is gone. */
  ended(worker: Worker): void {
    const said = this.#said.get(worker)
    if (said === undefined) return
    // What workers disagree about, while an edit is under way, stands in no report just now.
    const told = new Set([...this.#said.values()].flatMap(({ counts }) => [...counts.keys()]))
    this.#said.delete(worker)
    const stays = (what: string): boolean => !isOfEndpoint(what) || this.#known.has(what) || told.has(what)
    const meters = [this.#before.meter, said.meter && atRest(said.meter)].filter((each) => each !== null)
    const counts = [...addCounts([this.#before.counts, said.counts])].filter(([what]) => stays(what))
    this.#before = {
      meter: addMeters(meters),
      counts: new Map(counts),
      droppedLines: this.#before.droppedLines + said.droppedLines,
    }
  }

  /** Has a report of all tell what all have counted; `primary` is what this process knows. */
  inAll(merged: Report, primary: Report): Report {
    const each = [this.#before, ...this.#said.values()]
    const meters = each.flatMap(({ meter }) => meter ?? [])
    const counts = addCounts([countsOf(primary), ...each.map((one) => one.counts)])
    this.#known = new Set(countsOf(merged).keys())
    return {
      ...withCounts(merged, counts),
      meter: merged.meter && (addMeters(meters) ?? merged.meter),
    }
  }

  /** Counts the log lines that workers dropped. */
  get droppedLines(): number {
    return [...this.#said.values()].reduce((sum, { droppedLines }) => sum + droppedLines, this.#before.droppedLines)
  }
}
