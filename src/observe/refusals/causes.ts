import type { OperationId } from '../../catalog.ts'
import { failures, type Kind } from '../../failures/kinds.ts'
import type { Reason } from '../../failures/reasons.ts'

/** How often something went wrong of late. Times are milliseconds since the epoch. */
export type CauseReport = ReturnType<typeof reportOf>

/** Is what went wrong once. Every part that it is told from others by is one of a bounded number of words. */
export interface Caused {
  /** Null: the requests were none of the nine. */
  readonly operation: OperationId | null
  /** Where the last attempt went; null: it went nowhere. */
  readonly endpoint: string | null
  readonly kind: Kind
  /** A bounded word; null: the kind says it all. */
  readonly reason: Reason | null
  /** What a library or an upstream said of it, for the eyes of operators; null: nothing. */
  readonly cause: string | null
}

const most = 200

interface Cause {
  readonly slots: Slots
  last: Caused
  lastAt: number
}

/** Counts causes over a quarter of an hour. */
export class Causes {
  // Apart, or a client that is refused in every way there is would leave no room for an upstream that is dead.
  readonly #ofClients = new Pool()
  readonly #others = new Pool()

  add(at: number, caused: Caused): void {
    const pool = failures[caused.kind].fault === 'client' ? this.#ofClients : this.#others
    pool.add(at, caused)
  }

  /** Tells of those that came within the last quarter of an hour, the most frequent first. */
  report(at: number): readonly CauseReport[] {
    return mostFirst([...this.#ofClients.at(at), ...this.#others.at(at)].map((cause) => reportOf(cause, at)))
  }
}

/** Keeps so many causes. */
class Pool {
  readonly #causes = new Map<string, Cause>()
  /** In which ten seconds it was looked for old ones; whoever finds no room again and again must not cost that each time. */
  #lookedIn: number | null = null

  add(at: number, caused: Caused): void {
    const key = keyOf(caused)
    let cause = this.#causes.get(key)
    if (cause === undefined) {
      if (this.#causes.size >= most && this.#lookedIn !== slotOf(at)) this.#forget(at)
      if (this.#causes.size >= most) return
      cause = { slots: new Slots(), last: caused, lastAt: at }
      this.#causes.set(key, cause)
    }
    cause.slots.count(at)
    cause.last = caused
    cause.lastAt = at
  }

  at(at: number): readonly Cause[] {
    this.#forget(at)
    return [...this.#causes.values()]
  }

  #forget(at: number): void {
    this.#lookedIn = slotOf(at)
    for (const [key, { slots }] of this.#causes) if (slots.firstAt(at) === null) this.#causes.delete(key)
  }
}

const keyOf = ({ operation, kind, reason, endpoint }: Omit<Caused, 'cause'>): string =>
  `${operation} ${kind} ${reason} ${endpoint}`

const reportOf = ({ last, slots, lastAt }: Cause, at: number) => ({
  operation: last.operation,
  kind: last.kind,
  reason: last.reason,
  endpoint: last.endpoint,
  detail: last.cause,
  lastMinute: slots.within(at, 60_000),
  lastQuarter: slots.within(at, 900_000),
  /** When it came first in the last quarter of an hour, to ten seconds. */
  firstAt: slots.firstAt(at) ?? lastAt,
  lastAt,
})

/** Adds up what several processes have counted. */
export const mergeCauses = (each: readonly CauseReport[]): readonly CauseReport[] =>
  mostFirst([...Map.groupBy(each, keyOf).values()].map((same) => same.reduce(both)))

const both = (one: CauseReport, other: CauseReport): CauseReport => ({
  ...(one.lastAt >= other.lastAt ? one : other),
  lastMinute: one.lastMinute + other.lastMinute,
  lastQuarter: one.lastQuarter + other.lastQuarter,
  firstAt: Math.min(one.firstAt, other.firstAt),
})

const mostFirst = (causes: readonly CauseReport[]): readonly CauseReport[] =>
  causes.toSorted((a, b) => b.lastMinute - a.lastMinute || b.lastQuarter - a.lastQuarter)

const slotMs = 10_000
const all = 90

/** Tells which ten seconds since the epoch it is. */
const slotOf = (at: number): number => Math.trunc(at / slotMs)

/** Counts over the last quarter of an hour, ten seconds to a slot. */
export class Slots {
  readonly #counts: number[] = new Array(all).fill(0)
  /** Which ten seconds since the epoch each slot counts. */
  readonly #numbers: number[] = new Array(all).fill(-all)

  count(at: number): void {
    const number = slotOf(at)
    const slot = number % all
    if (this.#numbers[slot] !== number) {
      this.#numbers[slot] = number
      this.#counts[slot] = 0
    }
    this.#counts[slot] = (this.#counts[slot] as number) + 1
  }

  /** Tells how many there were in the last `ms`, the running slot among them. */
  within(at: number, ms: number): number {
    const to = slotOf(at)
    const after = to - ms / slotMs
    return this.#counts.reduce(
      (sum, count, i) => (isBetween(this.#numbers[i] as number, after, to) ? sum + count : sum),
      0,
    )
  }

  /** Tells when the first of the last quarter of an hour began, to ten seconds; null: there was none. */
  firstAt(at: number): number | null {
    const to = slotOf(at)
    const numbers = this.#numbers.filter((number) => isBetween(number, to - all, to))
    return numbers.length === 0 ? null : Math.min(...numbers) * slotMs
  }
}

// What was counted by a clock that has been set back since would otherwise be of the last minute until it has come round.
const isBetween = (number: number, after: number, to: number): boolean => number > after && number <= to
