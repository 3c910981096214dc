import type { Exchange, ProxyResponse } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import type { HeaderFields } from '../../core/exchange/header-fields.ts'
import { now } from '../../core/lib/clock.ts'
import { CacheFetch } from './cache-fetch.ts'
import {
  recordCacheOutcome,
  recordIfError,
  respondFromResult,
  respondFromStored,
  storedFields,
} from './cache-response.ts'
import { SingleFlight } from './collapsing.ts'
import type {
  BackgroundRevalidation,
  CacheDeps,
  CacheMiss,
  FetchContext,
  FetchResult,
  SharedResult,
  TierLookup,
} from './fetch-context.ts'
import type { CacheRequest } from './policy/cache-request.ts'
import {
  decideReuse,
  type ForwardOutcome,
  forwardedStatus,
  mayServeStale,
  type UpstreamTrouble,
} from './policy/reuse.ts'
import { selectVariant } from './policy/stored-head.ts'
import { BodyTee } from './store/body-tee.ts'
import { type CacheOutcome, emptyStoredBody, StoredBody, type StoredResponse } from './store/stored-response.ts'

// For each operation: limits of exchanges in flight do not count fetches without a client.
const maxDetached = 100

// Fetches whose clients have left; the other half is for revalidations.
const maxDetachedLater = maxDetached / 2

type LookUpAgain = (miss: CacheMiss) => Promise<ProxyResponse>

export class CacheFiller {
  readonly #deps: CacheDeps
  readonly #lookUpAgain: LookUpAgain
  readonly #singleFlight = new SingleFlight<CacheFetch>()
  readonly #detached = new Set<CacheFetch>()

  /** `lookUpAgain` serves a request that waited for a different variant: its own may be stored by now. */
  constructor(deps: CacheDeps, lookUpAgain: LookUpAgain) {
    this.#deps = deps
    this.#lookUpAgain = lookUpAgain
  }

  fetchOrJoin(miss: CacheMiss): Promise<ProxyResponse> {
    const { exchange, request, key, at, stored, varies, why, joinsLeft, tierLookup } = miss
    const isHitForMiss = this.#deps.partition.hitForMiss.has(key)
    // A client that wants a small range must not wait for the whole response. With a stored response, the 304 must
    // reach the cache (RFC 9111 §4.3.4).
    if (request.range !== null || (isHitForMiss && stored === null)) return this.#forward(miss)
    const isExclusive = isHitForMiss || (stored !== null && isUnshareable(stored))
    if (joinsLeft > 0 && !isExclusive && !request.noCache && why !== 'request') {
      const joined = this.#singleFlight.find(key, request, varies, at)
      if (joined?.result) return Promise.resolve(this.#respond(miss, joined, joined.result))
      if (joined !== null) return this.#wait(miss, joined)
    }
    if (this.#singleFlight.isFull(key)) return this.#forward(miss)
    const fetch = this.#createFetch(exchange, request, key, { stored, tierLookup, isDetached: false, isExclusive })
    const response = this.#wait(miss, fetch)
    fetch.start()
    return response
  }

  mayRevalidate({ request, key, stored, at }: BackgroundRevalidation): boolean {
    const isFull = this.#detached.size >= maxDetached || this.#singleFlight.isFull(key)
    if (isFull || this.#deps.partition.hitForMiss.has(key)) return false
    return this.#singleFlight.find(key, request, stored.head.varies, at) === null
  }

  /** RFC 5861 §3 */
  revalidate(revalidation: BackgroundRevalidation, tierLookup: TierLookup | null): void {
    if (!this.mayRevalidate(revalidation)) return
    const { exchange, request, key, stored } = revalidation
    this.#createFetch(exchange, request, key, { stored, tierLookup, isDetached: true, isExclusive: false }).start()
  }

  #wait(miss: CacheMiss, fetch: CacheFetch): Promise<ProxyResponse> {
    const { exchange, request } = miss
    return new Promise((resolve, reject) => {
      fetch.addWaiter(request, (result) => {
        exchange.setAbortListener(null)
        try {
          resolve(this.#respond(miss, fetch, result))
        } catch (error) {
          if (error instanceof GatewayError) return reject(error)
          this.#deps.events.onError(error)
          const isOwn = result.kind === 'unshared' && isInitiator(miss, fetch)
          resolve(isOwn ? result.response : this.#deps.next(exchange))
        }
      })
      exchange.setAbortListener((reason) => {
        fetch.removeWaiter(request)
        reject(reason)
      })
    })
  }

  #respond(miss: CacheMiss, fetch: CacheFetch, result: FetchResult): ProxyResponse | Promise<ProxyResponse> {
    const { request } = miss
    const stale = this.#serveStale(miss, troubleOfResult(result), statusOfResult(result))
    if (stale !== null) {
      if (result.kind === 'unshared' && isInitiator(miss, fetch)) result.response.body.discard()
      return stale
    }
    if (isInitiator(miss, fetch)) return this.#respondToInitiator(miss, fetch, result)
    if (result.kind === 'failed') {
      this.#record(miss, 'miss', { collapsed: true })
      throw result.error
    }
    // A response that may not be stored is for the exchange that began the fetch.
    if (result.kind !== 'shared' || !result.isShareable) return this.#forward(miss)
    const at = now()
    if (selectVariant([result], request) === null) return this.#lookUpAgain(miss)
    if (decideReuse(result.head, request, at).kind !== 'fresh') return this.#forward(miss)
    const response = this.#respondShared(miss, result, storedFields(result.head, at))
    if (response === null) return this.#forward(miss)
    this.#record(miss, 'collapsed', { collapsed: true, ttlMs: result.head.freshUntil - at })
    recordIfError(this.#deps.partition, result.head)
    return response
  }

  #respondToInitiator(miss: CacheMiss, fetch: CacheFetch, result: FetchResult): ProxyResponse | Promise<ProxyResponse> {
    const { exchange } = miss
    if (result.kind === 'none') return this.#forward(miss)
    if (result.kind === 'failed') {
      this.#record(miss, 'miss')
      throw result.error
    }
    if (result.kind === 'unshared') {
      this.#record(miss, 'miss', { detail: result.notStored })
      exchange.setAbortListener((reason) => fetch.exchange.abort(reason))
      return result.response
    }
    const { head, fields, isValidated, isStored, notStored } = result
    const response = this.#respondShared(miss, result, fields)
    if (response === null) return this.#forward(miss)
    const isLeft = result.body instanceof BodyTee && response.body === emptyStoredBody
    // Without a reader, a body is still stored, up to a number of such fetches.
    const isKept = !isLeft || this.#detached.size < maxDetachedLater
    if (isLeft && isKept) {
      this.#detached.add(fetch)
      fetch.detach()
    }
    const upstreamStatus = isValidated ? 304 : head.status
    if (isValidated) recordIfError(this.#deps.partition, head)
    this.#record(miss, isValidated ? 'revalidated' : 'miss', {
      status: upstreamStatus === response.status ? null : upstreamStatus,
      stored: isStored && isKept,
      ttlMs: head.freshUntil - now(),
      detail: notStored,
    })
    return response
  }

  #respondShared({ exchange, request }: CacheMiss, result: SharedResult, fields: HeaderFields): ProxyResponse | null {
    if (result.body instanceof StoredBody) this.#deps.partition.pin(exchange, result.body)
    return respondFromResult(exchange, request, result, fields)
  }

  #forward(miss: CacheMiss): Promise<ProxyResponse> {
    const { exchange, request, key, stored } = miss
    const sent = this.#deps.next(exchange)
    const detail = request.range === null ? this.#deps.partition.hitForMiss.reasonFor(key) : 'range'
    if (stored === null) {
      this.#record(miss, 'miss', { detail })
      return sent
    }
    return sent.then(
      (response) => {
        const stale = this.#serveStale(miss, troubleOfStatus(response.status), response.status)
        if (stale !== null) {
          response.body.discard()
          return stale
        }
        this.#record(miss, 'miss', { detail })
        return response
      },
      (error) => {
        const stale = this.#serveStale(miss, error instanceof GatewayError ? troubleOfError(error) : null, null)
        if (stale !== null) return stale
        this.#record(miss, 'miss')
        throw error
      },
    )
  }

  #serveStale(miss: CacheMiss, trouble: UpstreamTrouble | null, status: number | null): ProxyResponse | null {
    const { exchange, request, stored } = miss
    if (trouble === null || stored === null) return null
    const at = now()
    if (!mayServeStale(stored.head, request, trouble, at)) return null
    const { head, body } = stored
    const response = respondFromStored(head, body, request, storedFields(head, at))
    this.#deps.partition.pin(exchange, body)
    this.#record(miss, 'stale', { status, ttlMs: head.freshUntil - at })
    return response
  }

  #record({ exchange, why }: CacheMiss, outcome: CacheOutcome, forwarded: Omit<ForwardOutcome, 'why'> = {}): void {
    recordCacheOutcome(exchange, this.#deps.partition, outcome, forwardedStatus({ why, ...forwarded }))
  }

  #createFetch(exchange: Exchange, request: CacheRequest, key: string, mode: FetchMode): CacheFetch {
    const onClosed = (): void => {
      this.#singleFlight.remove(key, fetch)
      this.#detached.delete(fetch)
    }
    const fetch: CacheFetch = new CacheFetch(exchange, request, { ...this.#deps, key, ...mode, onClosed })
    this.#singleFlight.add(key, fetch)
    if (mode.isDetached) this.#detached.add(fetch)
    return fetch
  }
}

type FetchMode = Omit<FetchContext, keyof CacheDeps | 'key' | 'onClosed'>

const isInitiator = ({ request }: CacheMiss, fetch: CacheFetch): boolean => request === fetch.request

/** Every request must reach the upstream, so waiting for a shared response is useless. */
export const isUnshareable = ({ head }: StoredResponse): boolean => head.noCache || head.freshUntil <= head.receivedAt

const statusOfResult = (result: FetchResult): number | null => {
  if (result.kind === 'unshared') return result.response.status
  return result.kind === 'shared' ? result.head.status : null
}

const troubleOfResult = (result: FetchResult): UpstreamTrouble | null =>
  result.kind === 'failed' ? troubleOfError(result.error) : troubleOfStatus(statusOfResult(result) ?? 0)

// RFC 9111 §4.2.4: no connection to the upstream, or the gateway expects none.
const disconnectedKinds: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'connect-failed',
  'connect-timeout',
  'tls-failed',
  'reset-before-headers',
  'no-healthy-endpoint',
  'circuit-open',
])

// RFC 5861 §4: from the upstream or the gateway.
const errorStatuses: ReadonlySet<number> = new Set([500, 502, 503, 504])

const troubleOfStatus = (status: number): UpstreamTrouble | null => (errorStatuses.has(status) ? 'error' : null)

/** Null: the client's fault, so a stored response does not help. */
const troubleOfError = ({ kind, status }: GatewayError): UpstreamTrouble | null =>
  disconnectedKinds.has(kind) ? 'disconnected' : troubleOfStatus(status)
