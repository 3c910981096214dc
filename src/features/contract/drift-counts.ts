import type { Violation } from '../../core/exchange/failures/errors.ts'
import { copyText } from '../../core/lib/buffers.ts'
import { epochMs, now, toEpochMs } from '../../core/lib/clock.ts'
import { createBoundedMap, RollingCounter } from '../../core/log/rolling-counter.ts'
import { sum } from '../../core/log/sum-reports.ts'
import { byOperation, type OperationId } from '../../operations.ts'
import type { UncheckedReason } from './check/check-message.ts'
import { createCountedRows, recentRowMs, worstRowFirst } from './counted-rows.ts'
import {
  type BrokenRule,
  type DriftExample,
  type DriftReport,
  type DriftTotals,
  driftRowKey,
  type MessageDirection,
  maxDriftRows,
  messageDirections,
  noTotals,
  type RecentDrift,
  zeroUnchecked,
} from './drift-report.ts'

export type DriftCounts = ReturnType<typeof createDriftCounts>

/** Of one contract and process. Of clients it keeps addresses and request ids. A kept message allocates no object. */
export const createDriftCounts = (digest: string) => {
  const since = now()
  const counts = byDirection((direction) => byOperation(({ id }) => createMessageCounts(id, direction)))
  // Separate tables: clients decide which requests come, and must not leave responses without room.
  const rows = byDirection(() => createCountedRows<BrokenRule, DriftExample>(maxDriftRows / 2))

  return {
    digest,
    countKept: (operation: OperationId, direction: MessageDirection, endpoint: string | null) =>
      counts[direction][operation].countChecked(endpoint, false, false, epochMs()),
    /** The head kept the contract. */
    countUnchecked: (operation: OperationId, direction: MessageDirection, why: UncheckedReason) =>
      counts[direction][operation].countUnchecked(why),
    countBroken(
      operation: OperationId,
      direction: MessageDirection,
      violations: readonly Violation[],
      isRejected: boolean,
      { client, endpoint, requestId }: DriftExample,
    ): void {
      const at = epochMs()
      counts[direction][operation].countChecked(direction === 'response' ? endpoint : null, true, isRejected, at)
      rows[direction].beginMessage()
      const kept = { client: copyText(client), endpoint, requestId: requestId && copyText(requestId) }
      for (const { in: place, pointer: exact, rule, detail } of violations) {
        const pointer = exact.replaceAll(/\/\d+(?=\/|$)/g, '/*')
        const broken = { operation, direction, pointer, in: place, rule, detail }
        rows[direction].count(driftRowKey(operation, direction, broken), () => broken, at, kept)
      }
    },
    get report(): DriftReport {
      const at = epochMs()
      const all = messageDirections.flatMap((direction) => Object.values(counts[direction]))
      return {
        digest,
        since: toEpochMs(since),
        totals: all.map(({ totals }) => totals()).filter(isCounted),
        recent: all.flatMap((each) => each.recent(at)),
        rows: messageDirections.flatMap((direction) => rows[direction].list(at)).toSorted(worstRowFirst),
        others: sum(messageDirections.map((direction) => rows[direction].others())),
      }
    },
  }
}

const byDirection = <T>(make: (direction: MessageDirection) => T): Readonly<Record<MessageDirection, T>> => ({
  request: make('request'),
  response: make('response'),
})

const isCounted = ({ checked, unchecked }: DriftTotals): boolean =>
  checked > 0 || Object.values(unchecked).some((count) => count > 0)

// Edits of the file may replace endpoints for years.
const maxEndpoints = 32

const createMessageCounts = (operation: OperationId, direction: MessageDirection) => {
  const counts = { ...noTotals(operation, direction), unchecked: { ...zeroUnchecked } }
  const byEndpoint = createBoundedMap<RecentMessages>(maxEndpoints, (each, at) => each.isIdle(at))
  const others = createRecentMessages(null)

  const recentOf = (endpoint: string | null, at: number): RecentMessages => {
    if (endpoint === null) return others
    const known = byEndpoint.get(endpoint)
    if (known !== undefined) return known
    const added = createRecentMessages(endpoint)
    return byEndpoint.add(endpoint, added, at) ? added : others
  }
  return {
    countChecked(endpoint: string | null, isBroken: boolean, isRejected: boolean, at: number): void {
      counts.checked++
      if (isBroken) counts.broken++
      if (isRejected) counts.rejected++
      recentOf(endpoint, at).count(isBroken, at)
    },
    countUnchecked(why: UncheckedReason): void {
      counts.unchecked[why]++
    },
    totals: (): DriftTotals => ({ ...counts, unchecked: { ...counts.unchecked } }),
    recent: (at: number): readonly RecentDrift[] =>
      [...byEndpoint.values(), others]
        .map((each) => ({ operation, direction, ...each.report(at) }))
        .filter(({ checked }) => checked > 0),
  }
}

type RecentMessages = ReturnType<typeof createRecentMessages>

const createRecentMessages = (endpoint: string | null) => {
  const [checked, broken] = [new RollingCounter(), new RollingCounter()]
  let brokenSince: number | null = null
  let lastBrokenAt: number | null = null
  const isBroken = (at: number): boolean => lastBrokenAt !== null && at - lastBrokenAt < recentRowMs

  return {
    count(breaks: boolean, at: number): void {
      checked.count(at)
      if (!breaks) return
      broken.count(at)
      if (!isBroken(at)) brokenSince = at
      lastBrokenAt = at
    },
    isIdle: (at: number): boolean => checked.countWithin(at, recentRowMs) === 0,
    report: (at: number): Omit<RecentDrift, 'operation' | 'direction'> => ({
      endpoint,
      checked: checked.countWithin(at, recentRowMs),
      broken: broken.countWithin(at, recentRowMs),
      brokenSince: isBroken(at) ? brokenSince : null,
      lastBrokenAt: isBroken(at) ? lastBrokenAt : null,
    }),
  }
}
