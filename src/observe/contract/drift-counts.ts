import { epochMs } from '../../clock.ts'
import type { UncheckedReason } from '../../contract/check-message.ts'
import type { Violation } from '../../contract/compiled-contract.ts'
import { byOperation, type OperationId } from '../../operations.ts'
import { copyText } from '../copy-text.ts'
import { RollingCounter } from '../rolling-counter.ts'
import { BoundedMap } from './bounded-map.ts'
import {
  type DriftExample,
  type DriftReport,
  type DriftRow,
  driftRowKey,
  type MessageDirection,
  maxDriftRows,
  recentDriftMs,
  worstRowFirst,
} from './drift-report.ts'
import { MessageCounts } from './message-counts.ts'

// A full table drops a row that was not seen for that long: a client could otherwise fill it once and for all.
const staleMs = 3_600_000

interface CountedRow {
  readonly row: Omit<DriftRow, 'count' | 'recent' | 'lastAt' | 'example'>
  readonly recent: RollingCounter
  count: number
  lastAt: number
  example: DriftExample
  /** The number of the last message that was counted: one that breaks it so for each item of an array counts once. */
  message: number
}

/**
 * Counts the messages that break one contract, in one process. Every text that it keeps is from the contract or the
 * configuration, but for the addresses of clients and the ids of requests. A message that keeps the contract makes no
 * object.
 */
export class DriftCounts {
  readonly digest: string
  readonly #counts = byDirection((direction) => byOperation(({ id }) => new MessageCounts(id, direction)))
  // Kept apart: clients decide which requests come, and must not leave responses without room.
  readonly #rows = byDirection(
    () =>
      new BoundedMap<CountedRow>(
        maxDriftRows / 2,
        ({ lastAt }, at) => at - lastAt >= staleMs,
        ({ count }) => {
          this.#others += count
        },
      ),
  )
  #others = 0
  #messages = 0

  /** `digest`: that of the contract. */
  constructor(digest: string) {
    this.digest = digest
  }

  /** Counts a message that keeps the contract. `endpoint`: where a response comes from; null for a request. */
  countKept(operation: OperationId, direction: MessageDirection, endpoint: string | null): void {
    this.#counts[direction][operation].countChecked(endpoint, false, false, epochMs())
  }

  /** Counts a message whose head keeps the contract, and whose body could not be checked. */
  countUnchecked(operation: OperationId, direction: MessageDirection, why: UncheckedReason): void {
    this.#counts[direction][operation].countUnchecked(why)
  }

  /** Counts a message that breaks the contract. */
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
    this.#messages++
    const { client, requestId } = example
    const kept = { client: copyText(client), endpoint: example.endpoint, requestId: requestId && copyText(requestId) }
    for (const violation of violations) this.#countViolation(operation, direction, violation, at, kept)
  }

  get report(): DriftReport {
    const at = epochMs()
    const counts = directions.flatMap((direction) => Object.values(this.#counts[direction]))
    return {
      digest: this.digest,
      totals: counts.map(({ totals }) => totals).filter(isCounted),
      recent: counts.flatMap((each) => each.recent(at)),
      rows: directions
        .flatMap((direction) => this.#rows[direction].values)
        .map((counted) => toDriftRow(counted, at))
        .toSorted(worstRowFirst),
      others: this.#others,
    }
  }

  #countViolation(
    operation: OperationId,
    direction: MessageDirection,
    violation: Violation,
    at: number,
    example: DriftExample,
  ): void {
    const pointer = violation.pointer.replaceAll(/\/\d+(?=\/|$)/g, '/*')
    const key = driftRowKey(operation, direction, { ...violation, pointer })
    const rows = this.#rows[direction]
    let counted = rows.get(key)
    if (counted === undefined) {
      counted = {
        row: { operation, direction, ...violation, pointer, firstAt: at },
        recent: new RollingCounter(),
        count: 0,
        lastAt: at,
        example,
        message: 0,
      }
      if (!rows.add(key, counted, at)) {
        this.#others++
        return
      }
    }
    if (counted.message === this.#messages) return
    counted.message = this.#messages
    counted.recent.count(at)
    counted.count++
    counted.lastAt = at
    counted.example = example
  }
}

const directions: readonly MessageDirection[] = ['request', 'response']

const byDirection = <T>(make: (direction: MessageDirection) => T): Readonly<Record<MessageDirection, T>> => ({
  request: make('request'),
  response: make('response'),
})

const isCounted = ({ checked, unchecked }: DriftReport['totals'][number]): boolean =>
  checked > 0 || Object.values(unchecked).some((count) => count > 0)

const toDriftRow = ({ row, recent, count, lastAt, example }: CountedRow, at: number): DriftRow => ({
  ...row,
  count,
  recent: recent.countWithin(at, recentDriftMs),
  lastAt,
  example,
})
