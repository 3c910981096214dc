import { now, unrefTimeout } from '../../../../core/lib/clock.ts'
import type { Group, OperationId, Side } from '../../../../operations.ts'
import { createSlotList, type SlotEntry } from '../../layers/slot-list.ts'
import { failureCode, type GuardFailure, guardKeyBase, respondedCode, waitedCode } from './guard-key.ts'

/** Since the last report. */
export interface GuardReport {
  readonly group: Group
  /** Names the share: counts under another share are no evidence. */
  readonly era: string
  readonly counts: readonly number[]
  /** Requests without a head. Replaces the last report's. */
  readonly waiting: readonly number[]
}

export interface GuardedRequest extends SlotEntry {
  readonly keyBase: number
  /** Null: the client is still sending. */
  startedAt: number | null
}

const reportEveryMs = 250

// Most requests have a head before 250 ms and need no report.
const minWaitMs = 250

export type GuardCounts = ReturnType<typeof createGuardCounts>

export const createGuardCounts = (group: Group, era: string, onFirst: () => void) => {
  let counts = new Map<number, number>()
  const waiting = createSlotList<GuardedRequest>()
  let isReported = true

  const touch = (): void => {
    if (!isReported) return
    isReported = false
    onFirst()
  }
  const count = (key: number): void => {
    addOne(counts, key)
    touch()
  }
  const settle = (request: GuardedRequest, code: number): void => {
    if (waiting.delete(request)) count(request.keyBase + code)
  }
  const dropped = (request: GuardedRequest): void => void waiting.delete(request)

  return {
    group,
    era,
    dropped,
    begin(operation: OperationId, side: Side, cell: number, isSent: boolean): GuardedRequest {
      const request = { keyBase: guardKeyBase(operation, side, cell), startedAt: isSent ? now() : null, slot: -1 }
      waiting.add(request)
      touch()
      return request
    },
    responded: (request: GuardedRequest) => settle(request, respondedCode(waitedMs(request))),
    failed: (request: GuardedRequest, failure: GuardFailure) => settle(request, failureCode(failure)),
    left(request: GuardedRequest): void {
      if (request.startedAt === null) dropped(request)
      else settle(request, waitedCode(waitedMs(request)))
    },
    late: (operation: OperationId, side: Side, cell: number) =>
      count(guardKeyBase(operation, side, cell) + failureCode('late')),
    take(): { readonly report: GuardReport; readonly isWaiting: boolean } {
      const late = new Map<number, number>()
      for (const request of waiting.all()) {
        const ms = waitedMs(request)
        if (ms >= minWaitMs) addOne(late, request.keyBase + waitedCode(ms))
      }
      const report = { group, era, counts: [...counts].flat(), waiting: [...late].flat() }
      counts = new Map()
      const isWaiting = waiting.size() > 0
      isReported = !isWaiting
      return { report, isWaiting }
    },
  }
}

const addOne = (counts: Map<number, number>, key: number): void => void counts.set(key, (counts.get(key) ?? 0) + 1)

const waitedMs = ({ startedAt }: GuardedRequest): number => (startedAt === null ? 0 : now() - startedAt)

export type GuardReporter = ReturnType<typeof createGuardReporter>

export const createGuardReporter = (onReports: (reports: readonly GuardReport[]) => void) => {
  const latest = new Map<Group, GuardCounts>()
  const pending = new Set<GuardCounts>()
  let isClosed = false
  let stop: (() => void) | null = null

  const reportSoon = (counts: GuardCounts): void => {
    pending.add(counts)
    stop ??= unrefTimeout(reportEveryMs, report)
  }
  const report = (): void => {
    stop = null
    const reports = [...pending].map((counts) => {
      const { report, isWaiting } = counts.take()
      if (!isWaiting) pending.delete(counts)
      return report
    })
    if (!isClosed) onReports(reports)
    for (const counts of pending) reportSoon(counts)
  }
  return {
    /** Survives reloads with the same share: its requests still wait, even if a rejected edit opened other counts. */
    open(group: Group, era: string): GuardCounts {
      const known = [latest.get(group), ...pending].find((each) => each?.group === group && each.era === era)
      const counts: GuardCounts = known ?? createGuardCounts(group, era, () => reportSoon(counts))
      latest.set(group, counts)
      return counts
    },
    close(): void {
      stop?.()
      isClosed = true
    },
  }
}
