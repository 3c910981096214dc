import type { Exchange, Handler, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
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

// Outside the deadline: a hit never times out.
/** RFC 9111. If the cache itself fails, the request is forwarded. `sharedTier` null: responses are not shared. */
export const cacheLayer =
  (rules: CacheRules, partition: CachePartition, events: CacheEvents, sharedTier: SharedTier | null = null): Layer =>
  (next) =>
    createCacheHandler({ next, rules, partition, events }, sharedTier)

const maxJoins = 2

const createCacheHandler = (deps: CacheDeps, sharedTier: SharedTier | null): Handler => {
  const { next, rules, partition, events } = deps
  const filler = new CacheFiller(deps, ({ exchange, request, key, joinsLeft, tierLookup }) =>
    serve(exchange, request, key, joinsLeft - 1, tierLookup),
  )

  const serve = (
    exchange: Exchange,
    request: CacheRequest,
    key: string,
    joinsLeft: number,
    lookup: TierLookup | null | 'not-yet',
  ): Promise<ProxyResponse> => {
    const at = now()
    const variants = partition.find(key)?.variants
    const stored = variants === undefined ? null : selectVariant(variants, request)
    const verdict = stored === null ? null : decideReuse(stored.head, request, at)
    const isMissed = verdict === null || verdict.kind === 'fetch' || verdict.kind === 'not-cached'
    if (lookup === 'not-yet' && isMissed) return lookUpAndServe(exchange, request, key, stored)
    if (stored === null || isMissed) {
      if (request.onlyIfCached) return notCached()
      const why = verdict?.kind === 'fetch' ? verdict.why : variants === undefined ? 'uri-miss' : 'vary-miss'
      const varies = (stored ?? variants?.[0])?.head.varies ?? null
      const tierLookup = lookup === 'not-yet' ? null : lookup
      return filler.fetchOrJoin({ exchange, request, key, at, stored, varies, why, joinsLeft, tierLookup })
    }
    const { head, body } = stored
    const response = respondFromStored(head, body, request, storedFields(head, at))
    partition.pin(exchange, body)
    if (verdict.kind === 'stale' && verdict.revalidate) revalidate({ exchange, request, key, stored, at })
    const outcome = verdict.kind === 'fresh' ? 'hit' : 'stale'
    recordCacheOutcome(exchange, partition, outcome, hitStatus(head.freshUntil - at))
    recordIfError(partition, head)
    return Promise.resolve(response)
  }

  const lookUpTier = (exchange: Exchange, request: CacheRequest, key: string): TierLookup | null =>
    sharedTier?.lookUp(toCacheKey(exchange, request), partition.hitForMiss.has(key) ? null : key, request) ?? null

  const lookUpAndServe = (exchange: Exchange, request: CacheRequest, key: string, stored: StoredResponse | null) => {
    const tierLookup = lookUpTier(exchange, request, key)
    // A response that must be validated anyway is not worth waiting for.
    const isUseless = request.noCache || (stored !== null && isUnshareable(stored))
    if (isUseless || !tierLookup?.loaded) return serve(exchange, request, key, maxJoins, tierLookup)
    return tierLookup.loaded.then(() => {
      if (exchange.aborted !== null) throw exchange.aborted
      try {
        return serve(exchange, request, key, maxJoins, tierLookup)
      } catch (error) {
        events.onError(error)
        return next(exchange)
      }
    })
  }

  const revalidate = (revalidation: BackgroundRevalidation): void => {
    if (sharedTier === null) return filler.revalidate(revalidation, null)
    if (!filler.mayRevalidate(revalidation)) return
    const { exchange, request, key } = revalidation
    const tierLookup = lookUpTier(exchange, request, key)
    if (!tierLookup?.loaded) return filler.revalidate(revalidation, tierLookup)
    const revalidateIfStale = (): void => {
      const at = now()
      const stored = selectVariant(partition.find(key)?.variants ?? [], request)
      // Otherwise a 304 would store a response again that was removed meanwhile.
      if (stored !== null && decideReuse(stored.head, request, at).kind !== 'fresh')
        filler.revalidate({ ...revalidation, stored, at }, tierLookup)
    }
    tierLookup.loaded.then(revalidateIfStale).catch(events.onError)
  }

  return (exchange) => {
    try {
      const request = readRequest(exchange, rules)
      const detail = bypassReason(request, rules)
      if (detail === null) {
        const key = partition.toStoreKey(toCacheKey(exchange, request))
        return serve(exchange, request, key, maxJoins, sharedTier === null ? null : 'not-yet')
      }
      if (request.onlyIfCached) return notCached()
      recordCacheOutcome(exchange, partition, 'bypass', forwardedStatus({ why: 'bypass', detail }))
    } catch (error) {
      events.onError(error)
    }
    return next(exchange)
  }
}

const readRequest = ({ fields, authority, body, peer, identity }: Exchange, rules: CacheRules): CacheRequest => {
  // No upstream sees the certificate. With an identity, the key has the client's id.
  const hasCertificate = identity === null && peer.certificate() !== null
  return parseCacheRequest(fields, { authority, hasBody: body.length !== 0, hasCertificate }, rules)
}

/** RFC 9111 §5.2.1.7 */
const notCached = (): Promise<never> =>
  Promise.reject(new GatewayError('not-cached', { fields: ['Cache-Status', notCachedStatus] }))
