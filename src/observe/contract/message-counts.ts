import type { UncheckedReason } from '../../contract/check-message.ts'
import type { OperationId } from '../../operations.ts'
import { BoundedMap } from '../bounded-map.ts'
import { RollingCounter } from '../rolling-counter.ts'
import { recentRowMs } from '../row-counts.ts'
import { type DriftTotals, type MessageDirection, type RecentDrift, zeroUnchecked } from './drift-report.ts'

// Endpoints are those of the file, which edits may replace for years.
const maxEndpoints = 32

/** Counts the messages of one operation and direction: since the start, and lately. */
export class MessageCounts {
  readonly #operation: OperationId
  readonly #direction: MessageDirection
  readonly #unchecked = { ...zeroUnchecked }
  #checked = 0
  #broken = 0
  #rejected = 0
  readonly #byEndpoint = new BoundedMap<RecentMessages>(maxEndpoints, (each, at) => each.isIdle(at))
  readonly #others = new RecentMessages(null)

  constructor(operation: OperationId, direction: MessageDirection) {
    this.#operation = operation
    this.#direction = direction
  }

  countChecked(endpoint: string | null, isBroken: boolean, isRejected: boolean, at: number): void {
    this.#checked++
    if (isBroken) this.#broken++
    if (isRejected) this.#rejected++
    this.#recentOf(endpoint, at).count(isBroken, at)
  }

  countUnchecked(why: UncheckedReason): void {
    this.#unchecked[why]++
  }

  get totals(): DriftTotals {
    return {
      operation: this.#operation,
      direction: this.#direction,
      checked: this.#checked,
      broken: this.#broken,
      rejected: this.#rejected,
      unchecked: { ...this.#unchecked },
    }
  }

  /** Lists what was checked in the last five minutes; of responses, by endpoint. */
  recent(at: number): readonly RecentDrift[] {
    return [...this.#byEndpoint.values, this.#others].flatMap((each) => {
      const counts = each.report(at)
      return counts.checked === 0 ? [] : [{ operation: this.#operation, direction: this.#direction, ...counts }]
    })
  }

  #recentOf(endpoint: string | null, at: number): RecentMessages {
    if (endpoint === null) return this.#others
    const known = this.#byEndpoint.get(endpoint)
    if (known !== undefined) return known
    const added = new RecentMessages(endpoint)
    return this.#byEndpoint.add(endpoint, added, at) ? added : this.#others
  }
}

/** Counts recent messages, and since when they break the contract. */
class RecentMessages {
  readonly #endpoint: string | null
  readonly #checked = new RollingCounter()
  readonly #broken = new RollingCounter()
  #brokenSince: number | null = null
  #lastBrokenAt: number | null = null

  constructor(endpoint: string | null) {
    this.#endpoint = endpoint
  }

  count(isBroken: boolean, at: number): void {
    this.#checked.count(at)
    if (!isBroken) return
    this.#broken.count(at)
    if (!this.#isBroken(at)) this.#brokenSince = at
    this.#lastBrokenAt = at
  }

  isIdle(at: number): boolean {
    return this.#checked.countWithin(at, recentRowMs) === 0
  }

  report(at: number): Omit<RecentDrift, 'operation' | 'direction'> {
    const isBroken = this.#isBroken(at)
    return {
      endpoint: this.#endpoint,
      checked: this.#checked.countWithin(at, recentRowMs),
      broken: this.#broken.countWithin(at, recentRowMs),
      brokenSince: isBroken ? this.#brokenSince : null,
      lastBrokenAt: isBroken ? this.#lastBrokenAt : null,
    }
  }

  #isBroken(at: number): boolean {
    return this.#lastBrokenAt !== null && at - this.#lastBrokenAt < recentRowMs
  }
}
