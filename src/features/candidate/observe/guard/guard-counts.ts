import { now, unrefTimeout } from '../../../../core/lib/clock.ts'
import type { Group, OperationId, Side } from '../../../../operations.ts'
import { type SlotEntry, SlotList } from '../../layers/slot-list.ts'
import { answeredCode, failureCode, type GuardFailure, guardKeyBase, waitedCode } from './guard-key.ts'

/** One process's counts of a group since its last report. */
export interface GuardReport {
  readonly group: Group
  /** Names the share: counts under another share are no evidence. */
  readonly era: string
  /** Alternating keys and counts. */
  readonly counts: readonly number[]
  /** Requests without a head, in the same form. Replaces the last report's. */
  readonly waiting: readonly number[]
}

export interface GuardedRequest extends SlotEntry {
  readonly keyBase: number
  /** When only the upstream was left to wait for. Null: the client is still sending. */
  startedAt: number | null
}

// Four reports a second: cheap, with little delay.
const reportEveryMs = 250

// Most requests have a head before 250 ms and need no report.
const minWaitMs = 250

/** Counts the outcomes of a group's requests under one share. */
export class GuardCounts {
  readonly group: Group
  readonly era: string
  readonly #onFirst: (counts: GuardCounts) => void
  #counts = new Map<number, number>()
  readonly #waiting = new SlotList<GuardedRequest>()
  #isReported = true

  /** `onFirst` is called when there is something to report. */
  constructor(group: Group, era: string, onFirst: (counts: GuardCounts) => void) {
    this.group = group
    this.era = era
    this.#onFirst = onFirst
  }

  /** `cell`: the client's. */
  begin(operation: OperationId, side: Side, cell: number, isSent: boolean): GuardedRequest {
    const request = { keyBase: guardKeyBase(operation, side, cell), startedAt: isSent ? now() : null, slot: -1 }
    this.#waiting.add(request)
    this.#touch()
    return request
  }

  answered(request: GuardedRequest): void {
    this.#settle(request, answeredCode(waitedMs(request)))
  }

  failed(request: GuardedRequest, failure: GuardFailure): void {
    this.#settle(request, failureCode(failure))
  }

  left(request: GuardedRequest): void {
    if (request.startedAt === null) this.dropped(request)
    else this.#settle(request, waitedCode(waitedMs(request)))
  }

  /** The outcome is no fault of a side. */
  dropped(request: GuardedRequest): void {
    this.#waiting.delete(request)
  }

  /** A response that had begun was cut short or broke the contract. */
  late(operation: OperationId, side: Side, cell: number): void {
    this.#count(guardKeyBase(operation, side, cell) + failureCode('late'))
  }

  /** `isWaiting`: there will be more to report without another request. */
  take(): { readonly report: GuardReport; readonly isWaiting: boolean } {
    const waiting = new Map<number, number>()
    for (const request of this.#waiting.entries) {
      const ms = waitedMs(request)
      if (ms >= minWaitMs) addOne(waiting, request.keyBase + waitedCode(ms))
    }
    const counts = [...this.#counts].flat()
    this.#counts = new Map()
    const isWaiting = this.#waiting.size > 0
    this.#isReported = !isWaiting
    return { report: { group: this.group, era: this.era, counts, waiting: [...waiting].flat() }, isWaiting }
  }

  #settle(request: GuardedRequest, code: number): void {
    if (this.#waiting.delete(request)) this.#count(request.keyBase + code)
  }

  #count(key: number): void {
    addOne(this.#counts, key)
    this.#touch()
  }

  #touch(): void {
    if (!this.#isReported) return
    this.#isReported = false
    this.#onFirst(this)
  }
}

const addOne = (counts: Map<number, number>, key: number): void => void counts.set(key, (counts.get(key) ?? 0) + 1)

const waitedMs = ({ startedAt }: GuardedRequest): number => (startedAt === null ? 0 : now() - startedAt)

/** Reports to the primary process while there is something to report. */
export class GuardReporter {
  onReports: (reports: readonly GuardReport[]) => void = () => {}
  readonly #latest = new Map<Group, GuardCounts>()
  readonly #pending = new Set<GuardCounts>()
  #stop: (() => void) | null = null

  /** Survives reloads with the same share: waiting requests still wait, even if a rejected edit opened other counts. */
  open(group: Group, era: string): GuardCounts {
    const known = [this.#latest.get(group), ...this.#pending].find((each) => each?.group === group && each.era === era)
    const counts = known ?? new GuardCounts(group, era, (each) => this.#reportSoon(each))
    this.#latest.set(group, counts)
    return counts
  }

  close(): void {
    this.#stop?.()
    this.onReports = () => {}
  }

  #reportSoon(counts: GuardCounts): void {
    this.#pending.add(counts)
    this.#stop ??= unrefTimeout(reportEveryMs, () => this.#report())
  }

  #report(): void {
    this.#stop = null
    const reports = [...this.#pending].map((counts) => {
      const { report, isWaiting } = counts.take()
      if (!isWaiting) this.#pending.delete(counts)
      return report
    })
    this.onReports(reports)
    for (const counts of this.#pending) this.#reportSoon(counts)
  }
}
