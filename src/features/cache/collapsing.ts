import { LRUCache } from 'lru-cache'
import { copyText } from '../../core/lib/buffers.ts'
import { now } from '../../core/lib/clock.ts'
import type { CacheRequest } from './policy/cache-request.ts'
import { decideReuse } from './policy/reuse.ts'
import { isReasonOfRequest, type NotStoredReason } from './policy/storability.ts'
import { type StoredHead, selectingKey, selectVariant } from './policy/stored-head.ts'

// For one key: one fetch for each variant. Further requests are forwarded.
const maxPerKey = 32

// The longest wait for another client's fetch: the upstream may be silent because of that client's fields.
const maxJoinWaitMs = 5_000

interface Flight {
  readonly request: CacheRequest
  readonly startedAt: number
  readonly reservation: { readonly isCanceled: boolean }
  readonly context: { readonly isExclusive: boolean }
  readonly result: { readonly head: StoredHead } | null
}

export class SingleFlight<T extends Flight> {
  readonly #byKey = new Map<string, T[]>()

  add(key: string, fetch: T): void {
    if (!this.#byKey.get(key)?.push(fetch)) this.#byKey.set(key, [fetch])
  }

  remove(key: string, fetch: T): void {
    const others = this.#byKey.get(key)?.filter((each) => each !== fetch) ?? []
    if (others.length === 0) this.#byKey.delete(key)
    else this.#byKey.set(key, others)
  }

  isFull(key: string): boolean {
    return (this.#byKey.get(key)?.length ?? 0) >= maxPerKey
  }

  /** While a fetch has no response, requests that agree in `varies` (of the stored response, if any) may share it. */
  find(key: string, request: CacheRequest, varies: readonly string[] | null, now: number): T | null {
    const fetches = this.#byKey.get(key)
    if (fetches === undefined) return null
    const known = varies ?? fetches.find(({ result }) => result !== null)?.result?.head.varies ?? []
    const wanted = selectingKey(known, request)
    for (const fetch of fetches) {
      if (fetch.reservation.isCanceled || (fetch.context.isExclusive && fetch.result === null)) continue
      const { result, startedAt } = fetch
      const isFor =
        result === null
          ? now - startedAt < maxJoinWaitMs && selectingKey(known, fetch.request) === wanted
          : selectVariant([result], request) !== null && decideReuse(result.head, request, now).kind === 'fresh'
      if (isFor) return fetch
    }
    return null
  }
}

// Short, because the next response may be storable; small, because clients can invent keys.
const hitForMissMs = 5_000
const maxHitForMissBytes = 256 * 1024

/** Keys whose last response was not shareable: requests for them do not wait for each other. Varnish's hit-for-miss. */
export const createHitForMiss = () => {
  const entries = new LRUCache<string, { readonly why: NotStoredReason; readonly until: number }>({
    maxSize: maxHitForMissBytes,
    sizeCalculation: (_, key) => key.length + 128,
  })
  /** Null: the last response was shareable, or came over 5 s ago. */
  const reasonFor = (key: string): NotStoredReason | null => {
    const entry = entries.size === 0 ? undefined : entries.get(key)
    if (entry === undefined) return null
    if (now() < entry.until) return entry.why
    entries.delete(key)
    return null
  }
  return {
    reasonFor,
    has: (key: string): boolean => reasonFor(key) !== null,
    /** A reason in one client's credentials does not apply to the next client. */
    mark(key: string, why: NotStoredReason): void {
      if (!isReasonOfRequest(why)) entries.set(copyText(key), { why, until: now() + hitForMissMs })
    },
  }
}
