import type { CacheFetch } from './cache-fetch.ts'
import type { CacheRequest } from './policy/cache-request.ts'
import { decideReuse } from './policy/reuse.ts'
import { selectingKey, selectVariant } from './policy/vary.ts'

// Fetches for one key at the same time: as many as it can have variants. Further requests are forwarded.
const maxPerKey = 32

// The longest wait for another's fetch: what that client sent besides the key may be why no response comes.
const maxJoinWaitMs = 5_000

export class SingleFlight {
  readonly #byKey = new Map<string, CacheFetch[]>()

  add(key: string, fetch: CacheFetch): void {
    const fetches = this.#byKey.get(key)
    if (fetches === undefined) this.#byKey.set(key, [fetch])
    else fetches.push(fetch)
  }

  remove(key: string, fetch: CacheFetch): void {
    const fetches = this.#byKey.get(key)?.filter((each) => each !== fetch)
    if (fetches === undefined || fetches.length === 0) this.#byKey.delete(key)
    else this.#byKey.set(key, fetches)
  }

  isFull(key: string): boolean {
    return (this.#byKey.get(key)?.length ?? 0) >= maxPerKey
  }

  /**
   * Finds a fetch whose response a request may have, and that has not been under way for too long. While the response
   * is still to come, it is unknown what it varies by: `varies` is what the last response said, and null means that
   * there was none. Null: there is no fetch to join.
   */
  find(key: string, request: CacheRequest, varies: readonly string[] | null, now: number): CacheFetch | null {
    const fetches = this.#byKey.get(key)
    if (fetches === undefined) return null
    const known = varies ?? fetches.find(({ result }) => result !== null)?.result?.head.varies ?? []
    const wanted = selectingKey(known, request)
    for (const fetch of fetches) {
      if (fetch.reservation.isCancelled || (fetch.context.isExclusive && fetch.result === null)) continue
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
