import { CoalescedTimer, epochMs } from '../../core/lib/clock.ts'
import type { ExchangeObserver, ExchangeRecord } from '../../core/log/exchange-record.ts'
import { toRecentError, toRequestSummary } from '../../core/log/recent-errors.ts'
import type { RuntimePart } from '../../core/runtime/runtime-part.ts'

declare module '../../core/runtime/runtime-part.ts' {
  interface DataPlaneCommands {
    readonly watchRequests: { readonly params: object; readonly result: ReturnType<RecentRequests['watch']> }
  }
}

export const describe: RuntimePart['describe'] = () => ({})

export const open: RuntimePart['open'] = () => {
  const requests = new RecentRequests()
  const part = { observer: requests, commands: { watchRequests: { run: async () => requests.watch() } } }
  return { acquire: () => part, close: () => requests.close() }
}

/** Path and cause are never shown as they are. */
export type RecentRequest = ReturnType<typeof toRecentRequest>

export const maxRequests = 1000

/** After each call of `watch`. */
export const watchMs = 10_000

/** While no operator watches, a request costs one comparison. */
export class RecentRequests implements ExchangeObserver {
  readonly name = 'requests'
  #isWatched = false
  #last: RecentRequest[] = []
  #total = 0
  readonly #unwatched = new CoalescedTimer(() => this.close())

  record(record: ExchangeRecord): void {
    if (!this.#isWatched) return
    this.#total++
    this.#last.push(toRecentRequest(epochMs(), record))
    if (this.#last.length > maxRequests) this.#last.shift()
  }

  watch() {
    this.#isWatched = true
    this.#unwatched.set(watchMs)
    return { last: [...this.#last], total: this.#total }
  }

  close(): void {
    this.#unwatched.clear()
    this.#isWatched = false
    this.#last = []
  }
}

const toRecentRequest = (at: number, record: ExchangeRecord) => ({
  ...toRequestSummary(at, record),
  totalMs: record.totalMs,
  outcome: record.exchange?.outcome ?? null,
  error: record.failure && toRecentError(at, record, record.failure),
})
