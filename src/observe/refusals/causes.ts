import type { OperationId } from '../../catalog.ts'
import type { GatewayError, Kind } from '../../errors.ts'
import type { Reason } from '../../reasons.ts'
import { causeOf } from '../cause.ts'
import type { Exchanged } from '../exchanged.ts'
import { Slots } from './slots.ts'

/** Is how often something went wrong of late. Times are milliseconds since the epoch. */
export interface CauseReport {
  /** Null: the requests were none of the nine. */
  readonly operation: OperationId | null
  readonly kind: Kind
  /** A bounded word; null: the kind says it all. */
  readonly reason: Reason | null
  /** Where the last attempt went; null: it went nowhere. */
  readonly endpoint: string | null
  /** What a library or an upstream said of it last, for the eyes of operators; null: nothing. */
  readonly detail: string | null
  readonly lastMinute: number
  readonly lastQuarter: number
  /** When it came first in the last quarter of an hour, to ten seconds. */
  readonly firstAt: number
  readonly lastAt: number
}

const most = 200

interface Cause {
  readonly operation: OperationId | null
  readonly endpoint: string | null
  readonly slots: Slots
  failure: GatewayError
  lastAt: number
}

/** Counts causes over a quarter of an hour. Every part of a key is one of a bounded number of words. */
export class Causes {
  readonly #causes = new Map<string, Cause>()

  add(at: number, { operation, endpoint }: Exchanged, failure: GatewayError): void {
    const key = `${operation} ${failure.kind} ${failure.reason} ${endpoint}`
    let cause = this.#causes.get(key)
    if (cause === undefined) {
      if (this.#causes.size >= most) this.#forget(at)
      if (this.#causes.size >= most) return
      cause = { operation, endpoint, slots: new Slots(), failure, lastAt: at }
      this.#causes.set(key, cause)
    }
    cause.slots.count(at)
    cause.failure = failure
    cause.lastAt = at
  }

  /** Tells of those that came within the last quarter of an hour, the most frequent first. */
  report(at: number): readonly CauseReport[] {
    this.#forget(at)
    return mostFirst([...this.#causes.values()].map((cause) => reportOf(cause, at)))
  }

  #forget(at: number): void {
    for (const [key, { slots }] of this.#causes) if (slots.firstAt(at) === null) this.#causes.delete(key)
  }
}

const reportOf = ({ operation, endpoint, slots, failure, lastAt }: Cause, at: number): CauseReport => ({
  operation,
  kind: failure.kind,
  reason: failure.reason,
  endpoint,
  detail: causeOf(failure)?.slice(0, 200) ?? null,
  lastMinute: slots.within(at, 60_000),
  lastQuarter: slots.within(at, 900_000),
  firstAt: slots.firstAt(at) ?? lastAt,
  lastAt,
})

/** Adds up what several processes have counted. */
export const mergeCauses = (each: readonly CauseReport[]): readonly CauseReport[] => {
  const merged = new Map<string, CauseReport>()
  for (const one of each) {
    const key = `${one.operation} ${one.kind} ${one.reason} ${one.endpoint}`
    const found = merged.get(key)
    merged.set(key, found === undefined ? one : both(found, one))
  }
  return mostFirst([...merged.values()])
}

const both = (one: CauseReport, other: CauseReport): CauseReport => ({
  ...(one.lastAt >= other.lastAt ? one : other),
  lastMinute: one.lastMinute + other.lastMinute,
  lastQuarter: one.lastQuarter + other.lastQuarter,
  firstAt: Math.min(one.firstAt, other.firstAt),
})

const mostFirst = (causes: readonly CauseReport[]): readonly CauseReport[] =>
  causes.toSorted((a, b) => b.lastMinute - a.lastMinute || b.lastQuarter - a.lastQuarter)
