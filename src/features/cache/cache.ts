import type { Exchange, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { now } from '../../core/lib/clock.ts'
import { CacheFiller, isUnshareable } from './cache-filler.ts'
import { recordCacheOutcome, recordIfError, respondFromStored, storedFields, toCacheKey } from './cache-response.ts'
import type { BackgroundRevalidation, CacheDeps, CacheEvents, SharedTier, TierLookup } from './fetch-context.ts'
import type { CachePartition } from './partition.ts'
import { bypassReason, type CacheRequest, type CacheRules, parseCacheRequest } from './policy/cache-request.ts'
import { decideReuse, forwardedStatus, hitStatus, notCachedStatus } from './policy/reuse.ts'
import { selectVariant } from './policy/stored-head.ts'
import type { StoredResponse } from './store/stored-response.ts'

// Stands outside the deadline, so that a hit never times out.
/** RFC 9111. When the cache itself fails, the request is forwarded. `sharedTier` null: nothing is shared. */
export const cacheLayer =
  (rules: CacheRules, partition: CachePartition, events: CacheEvents, sharedTier: SharedTier | null = null): Layer =>
  (next) => {
    const server = new CacheServer({ next, rules, partition, events }, sharedTier)
    return (exchange) => server.handle(exchange)
  }

// How often a request waits for another client's fetch.
const maxJoins = 2

class CacheServer {
  readonly #deps: CacheDeps
  readonly #sharedTier: SharedTier | null
  readonly #filler: CacheFiller

  constructor(deps: CacheDeps, sharedTier: SharedTier | null) {
    this.#deps = deps
    this.#sharedTier = sharedTier
    this.#filler = new CacheFiller(deps, ({ exchange, request, key, joinsLeft, tierLookup }) =>
      this.#serve(exchange, request, key, joinsLeft - 1, tierLookup),
    )
  }

  handle(exchange: Exchange): Promise<ProxyResponse> {
    try {
      const { fields, authority, body, peer, identity } = exchange
      // No upstream sees the certificate. The id of a client that authenticated with it is in the key.
      const hasCertificate = identity === null && peer.certificate() !== null
      const facts = { authority, hasBody: body.length !== 0, hasCertificate }
      const request = parseCacheRequest(fields, facts, this.#deps.rules)
      const detail = bypassReason(request, this.#deps.rules)
      if (detail === null) {
        const key = this.#deps.partition.toStoreKey(toCacheKey(exchange, request))
        return this.#serve(exchange, request, key, maxJoins, this.#sharedTier === null ? null : 'not-yet')
      }
      if (request.onlyIfCached) return notCached()
      recordCacheOutcome(exchange, this.#deps.partition, 'bypass', forwardedStatus({ why: 'bypass', detail }))
    } catch (error) {
      this.#deps.events.onError(error)
    }
    return this.#deps.next(exchange)
  }

  #serve(
    exchange: Exchange,
    request: CacheRequest,
    key: string,
    joinsLeft: number,
    lookup: TierLookup | null | 'not-yet',
  ): Promise<ProxyResponse> {
    const at = now()
    const variants = this.#deps.partition.find(key)?.variants
    const stored = variants === undefined ? null : selectVariant(variants, request)
    const verdict = stored === null ? null : decideReuse(stored.head, request, at)
    const isMissed = verdict === null || verdict.kind === 'fetch' || verdict.kind === 'not-cached'
    if (lookup === 'not-yet' && isMissed) return this.#lookUpAndServe(exchange, request, key, stored)
    if (stored === null || isMissed) {
      if (request.onlyIfCached) return notCached()
      const why = verdict?.kind === 'fetch' ? verdict.why : variants === undefined ? 'uri-miss' : 'vary-miss'
      const varies = (stored ?? variants?.[0])?.head.varies ?? null
      const tierLookup = lookup === 'not-yet' ? null : lookup
      return this.#filler.fetchOrJoin({ exchange, request, key, at, stored, varies, why, joinsLeft, tierLookup })
    }
    const { head, body } = stored
    const response = respondFromStored(head, body, request, storedFields(head, at))
    this.#deps.partition.pin(exchange, body)
    if (verdict.kind === 'stale' && verdict.revalidate) this.#revalidate({ exchange, request, key, stored, at })
    const outcome = verdict.kind === 'fresh' ? 'hit' : 'stale'
    recordCacheOutcome(exchange, this.#deps.partition, outcome, hitStatus(head.freshUntil - at))
    recordIfError(this.#deps.partition, head)
    return Promise.resolve(response)
  }

  #lookUpAndServe(exchange: Exchange, request: CacheRequest, key: string, stored: StoredResponse | null) {
    const tierLookup = this.#lookUpTier(exchange, request, key)
    // A response that must be validated anyway is not worth the wait.
    const isUseless = request.noCache || (stored !== null && isUnshareable(stored))
    if (isUseless || !tierLookup?.loaded) return this.#serve(exchange, request, key, maxJoins, tierLookup)
    return tierLookup.loaded.then(() => {
      if (exchange.aborted !== null) throw exchange.aborted
      try {
        return this.#serve(exchange, request, key, maxJoins, tierLookup)
      } catch (error) {
        this.#deps.events.onError(error)
        return this.#deps.next(exchange)
      }
    })
  }

  #revalidate(revalidation: BackgroundRevalidation): void {
    if (this.#sharedTier === null) return this.#filler.revalidate(revalidation, null)
    if (!this.#filler.mayRevalidate(revalidation)) return
    const { exchange, request, key } = revalidation
    const tierLookup = this.#lookUpTier(exchange, request, key)
    if (!tierLookup?.loaded) return this.#filler.revalidate(revalidation, tierLookup)
    const revalidateIfStale = (): void => {
      const at = now()
      const stored = selectVariant(this.#deps.partition.find(key)?.variants ?? [], request)
      // A 304 must not store a response again that was removed meanwhile.
      if (stored !== null && decideReuse(stored.head, request, at).kind !== 'fresh')
        this.#filler.revalidate({ ...revalidation, stored, at }, tierLookup)
    }
    tierLookup.loaded.then(revalidateIfStale).catch((error) => this.#deps.events.onError(error))
  }

  #lookUpTier(exchange: Exchange, request: CacheRequest, key: string): TierLookup | null {
    if (this.#sharedTier === null) return null
    const isAsked = !this.#deps.partition.hitForMiss.has(key)
    return this.#sharedTier.lookUp(toCacheKey(exchange, request), isAsked ? key : null, request)
  }
}

/** RFC 9111 §5.2.1.7 */
const notCached = (): Promise<never> =>
  Promise.reject(new GatewayError('not-cached', { fields: ['Cache-Status', notCachedStatus] }))
