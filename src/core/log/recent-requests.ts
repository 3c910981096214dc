import { CoalescedTimer, epochMs } from '../lib/clock.ts'
import type { ExchangeObserver, ExchangeRecord } from './exchange-record.ts'
import { toRecentError, toRequestSummary } from './recent-errors/recent-errors.ts'

/** The requests that ended while an operator watched, as plain data. */
export type RecentRequestsReport = ReturnType<RecentRequests['watch']>

/** One of them. Its path and its cause are never shown as they are. */
export type RecentRequest = ReturnType<typeof toRecentRequest>

/** The most requests that one process keeps: those of a second, at which the command `tail` asks again. */
export const maxRequests = 1000

/** For how long a process goes on keeping requests after it was asked for them, in milliseconds. */
export const watchMs = 10_000

/**
 * Keeps the last requests of one process while an operator watches them, with `tail`. While none does, a request costs
 * one comparison here.
 */
export class RecentRequests implements ExchangeObserver {
  readonly name = 'requests'
  #isWatched = false
  #last: RecentRequest[] = []
  #total = 0
  readonly #unwatched = new CoalescedTimer(() => {
    this.#isWatched = false
    this.#last = []
  })

  record(record: ExchangeRecord): void {
    if (!this.#isWatched) return
    this.#total++
    this.#last.push(toRecentRequest(epochMs(), record))
    if (this.#last.length > maxRequests) this.#last.shift()
  }

  /** Returns what was kept, the oldest first, and keeps what comes in the next {@link watchMs}. */
  watch() {
    this.#isWatched = true
    this.#unwatched.set(watchMs)
    return { last: [...this.#last], total: this.#total }
  }
}

const toRecentRequest = (at: number, record: ExchangeRecord) => ({
  ...toRequestSummary(at, record),
  totalMs: record.totalMs,
  cache: record.exchange?.outcome?.source === 'cache' ? record.exchange.outcome.outcome : null,
  /** Null: the response is an upstream's or the cache's. */
  error: record.failure && toRecentError(at, record, record.failure),
})
