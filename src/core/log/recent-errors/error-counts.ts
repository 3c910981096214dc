import type { OperationId } from '../../../operations.ts'
import { type FailureKind, failureTable } from '../../exchange/failures/kinds.ts'
import type { FailureReason } from '../../exchange/failures/reasons.ts'
import { BoundedMap } from '../bounded-map.ts'
import { RollingCounter } from '../rolling-counter.ts'

/** How often one error came of late. Times are milliseconds since the epoch. */
export type ErrorCount = ReturnType<typeof toErrorCount>

/** One occurrence of an error. Every member of its key is one of a bounded number of words. */
interface ErrorOccurrence {
  /** Null: the request was for no operation. */
  readonly operation: OperationId | null
  /** The endpoint of the last attempt; null: there was none. */
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
  /** When it was first met, or met again after fifteen minutes without it. */
  readonly metAt: number
  last: ErrorOccurrence
  lastAt: number
}

export class ErrorCounts {
  // Kept apart: a client that is rejected in every possible way would leave no room for an upstream that is dead.
  readonly #clientErrors = new ErrorPool()
  readonly #otherErrors = new ErrorPool()

  add(at: number, occurrence: ErrorOccurrence): void {
    const pool = failureTable[occurrence.kind].fault === 'client' ? this.#clientErrors : this.#otherErrors
    pool.add(at, occurrence)
  }

  /** Lists the errors of the last fifteen minutes, the most frequent first. */
  report(at: number): readonly ErrorCount[] {
    return mostFrequentFirst(
      [...this.#clientErrors.at(at), ...this.#otherErrors.at(at)].map((error) => toErrorCount(error, at)),
    )
  }
}

class ErrorPool {
  readonly #errors = new BoundedMap<CountedError>(maxErrors, isStale)

  add(at: number, occurrence: ErrorOccurrence): void {
    const key = errorKey(occurrence)
    let error = this.#errors.get(key)
    if (error === undefined) {
      error = { counter: new RollingCounter(), metAt: at, last: occurrence, lastAt: at }
      if (!this.#errors.add(key, error, at)) return
    }
    error.counter.count(at)
    error.last = occurrence
    error.lastAt = at
  }

  at(at: number): readonly CountedError[] {
    for (const error of this.#errors.values) if (isStale(error, at)) this.#errors.delete(errorKey(error.last))
    return this.#errors.values
  }
}

const isStale = ({ counter }: CountedError, at: number): boolean => counter.firstAt(at) === null

const errorKey = ({ operation, kind, reason, endpoint }: Omit<ErrorOccurrence, 'cause'>): string =>
  `${operation} ${kind} ${reason} ${endpoint}`

const toErrorCount = ({ last, counter, metAt, lastAt }: CountedError, at: number) => ({
  operation: last.operation,
  kind: last.kind,
  reason: last.reason,
  endpoint: last.endpoint,
  detail: last.cause,
  lastMinute: counter.countWithin(at, 60_000),
  last15Min: counter.countWithin(at, 900_000),
  /** When it came first in the last fifteen minutes, to ten seconds, and never before it came at all. */
  firstAt: Math.max(metAt, counter.firstAt(at) ?? lastAt),
  lastAt,
})

export const mergeErrorCounts = (each: readonly ErrorCount[]): readonly ErrorCount[] =>
  mostFrequentFirst([...Map.groupBy(each, errorKey).values()].map((same) => same.reduce(combine)))

const combine = (one: ErrorCount, other: ErrorCount): ErrorCount => ({
  ...(one.lastAt >= other.lastAt ? one : other),
  lastMinute: one.lastMinute + other.lastMinute,
  last15Min: one.last15Min + other.last15Min,
  firstAt: Math.min(one.firstAt, other.firstAt),
})

const mostFrequentFirst = (counts: readonly ErrorCount[]): readonly ErrorCount[] =>
  counts.toSorted((a, b) => b.lastMinute - a.lastMinute || b.last15Min - a.last15Min)
