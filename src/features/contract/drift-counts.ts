import type { Violation } from '../../core/exchange/failures/errors.ts'
import { copyText } from '../../core/lib/buffers.ts'
import { epochMs, now, toEpochMs } from '../../core/lib/clock.ts'
import { BoundedMap, RollingCounter } from '../../core/log/rolling-counter.ts'
import { sum } from '../../core/log/sum-reports.ts'
import { byOperation, type OperationId } from '../../operations.ts'
import type { UncheckedReason } from './check/check-message.ts'
import { CountedRows, recentRowMs, worstRowFirst } from './counted-rows.ts'
import {
  type BrokenRule,
  type DriftExample,
  type DriftReport,
  type DriftTotals,
  driftRowKey,
  type MessageDirection,
  maxDriftRows,
  messageDirections,
  type RecentDrift,
  zeroUnchecked,
} from './drift-report.ts'

/**
 * Counts for one contract and process. Of clients it keeps only addresses and request ids. A message that keeps the
 * contract allocates no object.
 */
export class DriftCounts {
  readonly digest: string
  readonly #since = now()
  readonly #counts = byDirection((direction) => byOperation(({ id }) => new MessageCounts(id, direction)))
  // Separate tables: clients decide which requests come, and must not leave responses without room.
  readonly #rows = byDirection(() => new CountedRows<BrokenRule, DriftExample>(maxDriftRows / 2))

  constructor(digest: string) {
    this.digest = digest
  }

  countKept(operation: OperationId, direction: MessageDirection, endpoint: string | null): void {
    this.#counts[direction][operation].countChecked(endpoint, false, false, epochMs())
  }

  /** The head kept the contract. */
  countUnchecked(operation: OperationId, direction: MessageDirection, why: UncheckedReason): void {
    this.#counts[direction][operation].countUnchecked(why)
  }

  countBroken(
    operation: OperationId,
    direction: MessageDirection,
    violations: readonly Violation[],
    isRejected: boolean,
    example: DriftExample,
  ): void {
    const at = epochMs()
    const endpoint = direction === 'response' ? example.endpoint : null
    this.#counts[direction][operation].countChecked(endpoint, true, isRejected, at)
    const rows = this.#rows[direction]
    rows.beginMessage()
    const { client, requestId } = example
    const kept = { client: copyText(client), endpoint: example.endpoint, requestId: requestId && copyText(requestId) }
    for (const { in: place, pointer: exact, rule, detail } of violations) {
      const pointer = exact.replaceAll(/\/\d+(?=\/|$)/g, '/*')
      const broken = { operation, direction, pointer, in: place, rule, detail }
      rows.count(driftRowKey(operation, direction, broken), () => broken, at, kept)
    }
  }

  get report(): DriftReport {
    const at = epochMs()
    const counts = messageDirections.flatMap((direction) => Object.values(this.#counts[direction]))
    return {
      digest: this.digest,
      since: toEpochMs(this.#since),
      totals: counts.map(({ totals }) => totals).filter(isCounted),
      recent: counts.flatMap((each) => each.recent(at)),
      rows: messageDirections.flatMap((direction) => this.#rows[direction].list(at)).toSorted(worstRowFirst),
      others: sum(messageDirections.map((direction) => this.#rows[direction].others)),
    }
  }
}

const byDirection = <T>(make: (direction: MessageDirection) => T): Readonly<Record<MessageDirection, T>> => ({
  request: make('request'),
  response: make('response'),
})

const isCounted = ({ checked, unchecked }: DriftReport['totals'][number]): boolean =>
  checked > 0 || Object.values(unchecked).some((count) => count > 0)

// Edits of the file may replace endpoints for years.
const maxEndpoints = 32

class MessageCounts {
  readonly #key: Pick<DriftTotals, 'operation' | 'direction'>
  readonly #counts = { checked: 0, broken: 0, rejected: 0, unchecked: { ...zeroUnchecked } }
  readonly #byEndpoint = new BoundedMap<RecentMessages>(maxEndpoints, (each, at) => each.isIdle(at))
  readonly #others = new RecentMessages(null)

  constructor(operation: OperationId, direction: MessageDirection) {
    this.#key = { operation, direction }
  }

  countChecked(endpoint: string | null, isBroken: boolean, isRejected: boolean, at: number): void {
    this.#counts.checked++
    if (isBroken) this.#counts.broken++
    if (isRejected) this.#counts.rejected++
    this.#recentOf(endpoint, at).count(isBroken, at)
  }

  countUnchecked(why: UncheckedReason): void {
    this.#counts.unchecked[why]++
  }

  get totals(): DriftTotals {
    return { ...this.#key, ...this.#counts, unchecked: { ...this.#counts.unchecked } }
  }

  recent(at: number): readonly RecentDrift[] {
    return [...this.#byEndpoint.values, this.#others]
      .map((each) => ({ ...this.#key, ...each.report(at) }))
      .filter(({ checked }) => checked > 0)
  }

  #recentOf(endpoint: string | null, at: number): RecentMessages {
    if (endpoint === null) return this.#others
    const known = this.#byEndpoint.get(endpoint)
    if (known !== undefined) return known
    const added = new RecentMessages(endpoint)
    return this.#byEndpoint.add(endpoint, added, at) ? added : this.#others
  }
}

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
