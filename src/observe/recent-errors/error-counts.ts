import { type FailureKind, failureTable } from '../../failures/kinds.ts'
import type { FailureReason } from '../../failures/reasons.ts'
import type { OperationId } from '../../operations.ts'

/** How often something went wrong of late. Times are milliseconds since the epoch. */
export type ErrorCount = ReturnType<typeof toErrorCount>

/** Is what went wrong once. Every part that it is told from others by is one of a bounded number of words. */
export interface ErrorOccurrence {
  /** Null: the requests were none of the nine. */
  readonly operation: OperationId | null
  /** Where the last attempt went; null: it went nowhere. */
  readonly endpoint: string | null
  readonly kind: FailureKind
  /** A bounded word; null: the kind says it all. */
  readonly reason: FailureReason | null
  /** What a library or an upstream said of it, for the eyes of operators; null: nothing. */
  readonly cause: string | null
}

const maxErrors = 200

interface CountedError {
  readonly counter: RollingCounter
  last: ErrorOccurrence
  lastAt: number
}

/** Counts causes over a quarter of an hour. */
export class ErrorCounts {
  // Apart, or a client that is refused in every way there is would leave no room for an upstream that is dead.
  readonly #clientErrors = new ErrorPool()
  readonly #otherErrors = new ErrorPool()

  add(at: number, occurrence: ErrorOccurrence): void {
    const pool = failureTable[occurrence.kind].fault === 'client' ? this.#clientErrors : this.#otherErrors
    pool.add(at, occurrence)
  }

  /** Tells of those that came within the last quarter of an hour, the most frequent first. */
  report(at: number): readonly ErrorCount[] {
    return mostFrequentFirst(
      [...this.#clientErrors.at(at), ...this.#otherErrors.at(at)].map((cause) => toErrorCount(cause, at)),
    )
  }
}

/** Keeps so many causes. */
class ErrorPool {
  readonly #errors = new Map<string, CountedError>()
  /** In which ten seconds it was looked for old ones; whoever finds no room again and again must not cost that each time. */
  #lastSweptSlot: number | null = null

  add(at: number, occurrence: ErrorOccurrence): void {
    const key = errorKey(occurrence)
    let cause = this.#errors.get(key)
    if (cause === undefined) {
      if (this.#errors.size >= maxErrors && this.#lastSweptSlot !== slotOf(at)) this.#sweep(at)
      if (this.#errors.size >= maxErrors) return
      cause = { counter: new RollingCounter(), last: occurrence, lastAt: at }
      this.#errors.set(key, cause)
    }
    cause.counter.count(at)
    cause.last = occurrence
    cause.lastAt = at
  }

  at(at: number): readonly CountedError[] {
    this.#sweep(at)
    return [...this.#errors.values()]
  }

  #sweep(at: number): void {
    this.#lastSweptSlot = slotOf(at)
    for (const [key, { counter }] of this.#errors) if (counter.firstAt(at) === null) this.#errors.delete(key)
  }
}

const errorKey = ({ operation, kind, reason, endpoint }: Omit<ErrorOccurrence, 'cause'>): string =>
  `${operation} ${kind} ${reason} ${endpoint}`

const toErrorCount = ({ last, counter, lastAt }: CountedError, at: number) => ({
  operation: last.operation,
  kind: last.kind,
  reason: last.reason,
  endpoint: last.endpoint,
  detail: last.cause,
  lastMinute: counter.countWithin(at, 60_000),
  last15Min: counter.countWithin(at, 900_000),
  /** When it came first in the last quarter of an hour, to ten seconds. */
  firstAt: counter.firstAt(at) ?? lastAt,
  lastAt,
})

/** Adds up what several processes have counted. */
export const mergeErrorCounts = (each: readonly ErrorCount[]): readonly ErrorCount[] =>
  mostFrequentFirst([...Map.groupBy(each, errorKey).values()].map((same) => same.reduce(combine)))

const combine = (one: ErrorCount, other: ErrorCount): ErrorCount => ({
  ...(one.lastAt >= other.lastAt ? one : other),
  lastMinute: one.lastMinute + other.lastMinute,
  last15Min: one.last15Min + other.last15Min,
  firstAt: Math.min(one.firstAt, other.firstAt),
})

const mostFrequentFirst = (causes: readonly ErrorCount[]): readonly ErrorCount[] =>
  causes.toSorted((a, b) => b.lastMinute - a.lastMinute || b.last15Min - a.last15Min)

const slotMs = 10_000
const slotCount = 90

/** Tells which ten seconds since the epoch it is. */
const slotOf = (at: number): number => Math.trunc(at / slotMs)

/** Counts over the last quarter of an hour, ten seconds to a slot. */
export class RollingCounter {
  readonly #counts: number[] = new Array(slotCount).fill(0)
  /** Which ten seconds since the epoch each slot counts. */
  readonly #slotNumbers: number[] = new Array(slotCount).fill(-slotCount)

  count(at: number): void {
    const number = slotOf(at)
    const slot = number % slotCount
    if (this.#slotNumbers[slot] !== number) {
      this.#slotNumbers[slot] = number
      this.#counts[slot] = 0
    }
    this.#counts[slot] = (this.#counts[slot] as number) + 1
  }

  /** Tells how many there were in the last `ms`, the running slot among them. */
  countWithin(at: number, ms: number): number {
    const to = slotOf(at)
    const after = to - ms / slotMs
    return this.#counts.reduce(
      (sum, count, i) => (isBetween(this.#slotNumbers[i] as number, after, to) ? sum + count : sum),
      0,
    )
  }

  /** Tells when the first of the last quarter of an hour began, to ten seconds; null: there was none. */
  firstAt(at: number): number | null {
    const to = slotOf(at)
    const numbers = this.#slotNumbers.filter((number) => isBetween(number, to - slotCount, to))
    return numbers.length === 0 ? null : Math.min(...numbers) * slotMs
  }
}

// What was counted by a clock that has been set back since would otherwise be of the last minute until it has come round.
const isBetween = (number: number, after: number, to: number): boolean => number > after && number <= to
