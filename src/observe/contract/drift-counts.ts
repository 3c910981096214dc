import { epochMs } from '../../clock.ts'
import type { UncheckedReason } from '../../contract/check-message.ts'
import type { Violation, ViolationPlace } from '../../contract/compiled-contract.ts'
import type { OperationId } from '../../operations.ts'

/** The direction of a message. */
export type MessageDirection = 'request' | 'response'

/** What was going on when a message broke the contract, to look for in the log. Null: it is not known. */
export interface DriftExample {
  readonly client: string | null
  readonly endpoint: string | null
  readonly requestId: string | null
}

/** One way in which messages broke the contract. Times are milliseconds since the epoch. */
export interface DriftRow {
  readonly operation: OperationId
  readonly direction: MessageDirection
  /** As in {@link Violation}, with `*` for each index: the same for every item of an array. */
  readonly pointer: string
  readonly in: ViolationPlace
  readonly rule: string
  readonly detail: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  /** The last message of this kind. */
  readonly example: DriftExample
}

/** How many messages of one operation and direction were checked, and with which outcome. */
export interface DriftTotals {
  readonly operation: OperationId
  readonly direction: MessageDirection
  readonly checked: number
  readonly violated: number
  /** Those of the violated that were rejected. */
  readonly rejected: number
  readonly unchecked: Readonly<Record<UncheckedReason, number>>
}

/** What a process knows of messages that broke the contract, as plain data. */
export interface DriftReport {
  readonly totals: readonly DriftTotals[]
  readonly rows: readonly DriftRow[]
  /** Violations beyond the rows that are kept. */
  readonly others: number
}

/** So many rows are kept in a process; further ways are only counted. */
export const maxDriftRows = 200

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends object ? Mutable<T[K]> : T[K] }

/** Counts the messages of all operations that break the contract. */
export class DriftCounts {
  readonly #totals = new Map<string, Mutable<DriftTotals>>()
  readonly #rows = new Map<string, Mutable<DriftRow>>()
  #others = 0

  get report(): DriftReport {
    return structuredClone({ totals: [...this.#totals.values()], rows: [...this.#rows.values()], others: this.#others })
  }

  /** Counts a message that was checked. */
  countChecked(
    operation: OperationId,
    direction: MessageDirection,
    violations: readonly Violation[],
    isRejected: boolean,
    example: () => DriftExample,
  ): void {
    const totals = this.#totalsOf(operation, direction)
    totals.checked++
    if (violations.length === 0) return
    totals.violated++
    if (isRejected) totals.rejected++
    const at = epochMs()
    for (const violation of violations) this.#countViolation(operation, direction, violation, at, example())
  }

  /** Counts a body that could not be checked. */
  countUnchecked(operation: OperationId, direction: MessageDirection, why: UncheckedReason): void {
    this.#totalsOf(operation, direction).unchecked[why]++
  }

  #totalsOf(operation: OperationId, direction: MessageDirection): Mutable<DriftTotals> {
    const key = `${operation} ${direction}`
    const known = this.#totals.get(key)
    if (known !== undefined) return known
    const unchecked = { 'too-large': 0, coded: 0, 'not-json': 0, partial: 0, busy: 0 }
    const totals = { operation, direction, checked: 0, violated: 0, rejected: 0, unchecked }
    this.#totals.set(key, totals)
    return totals
  }

  #countViolation(
    operation: OperationId,
    direction: MessageDirection,
    violation: Violation,
    at: number,
    example: DriftExample,
  ): void {
    const pointer = violation.pointer.replaceAll(/\/\d+(?=\/|$)/g, '/*')
    const key = `${operation} ${direction} ${violation.in} ${pointer} ${violation.rule}`
    const row = this.#rows.get(key)
    if (row !== undefined) {
      row.count++
      row.lastAt = at
      row.example = { ...example }
    } else if (this.#rows.size < maxDriftRows)
      this.#rows.set(key, {
        operation,
        direction,
        ...violation,
        pointer,
        count: 1,
        firstAt: at,
        lastAt: at,
        example: { ...example },
      })
    else this.#others++
  }
}
