import { epochMs } from '../../clock.ts'
import type { UncheckedReason } from '../../contract/check-message.ts'
import type { Violation } from '../../contract/compiled-contract.ts'
import { byOperation, type OperationId } from '../../operations.ts'
import { copyText } from '../copy-text.ts'
import { CountedRows } from '../counted-rows.ts'
import { worstRowFirst } from '../row-counts.ts'
import { sum } from '../sum-reports.ts'
import {
  type BrokenRule,
  type DriftExample,
  type DriftReport,
  driftRowKey,
  type MessageDirection,
  maxDriftRows,
  messageDirections,
} from './drift-report.ts'
import { MessageCounts } from './message-counts.ts'

/**
 * Counts the messages that break one contract, in one process. Every text that it keeps is from the contract or the
 * configuration, but for the addresses of clients and the ids of requests. A message that keeps the contract makes no
 * object.
 */
export class DriftCounts {
  readonly digest: string
  readonly #counts = byDirection((direction) => byOperation(({ id }) => new MessageCounts(id, direction)))
  // Kept apart: clients decide which requests come, and must not leave responses without room.
  readonly #rows = byDirection(() => new CountedRows<BrokenRule, DriftExample>(maxDriftRows / 2))

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
