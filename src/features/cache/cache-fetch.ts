import { createBackgroundExchange, type Exchange, type ProxyResponse } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { CoalescedTimer, epochMs, now } from '../../core/lib/clock.ts'
import { toCacheKey } from './cache-response.ts'
import type { FetchContext, FetchResult, SharedResult } from './fetch-context.ts'
import { type CacheRequest, withoutConditions } from './policy/cache-request.ts'
import { hasValidator } from './policy/fields.ts'
import type { ResponseTimes } from './policy/freshness.ts'
import { conditionFields } from './policy/storability.ts'
import { BodyTee } from './store/body-tee.ts'
import type { Reservation } from './store/cache-store.ts'
import { storeNotModified, storeResponse } from './store/store-response.ts'
import type { StoredResponse } from './store/stored-response.ts'

// How long a detached fetch reads a body for the cache alone.
const unreadMs = 30_000

/** Ends with the last of its exchanges, whose conditions apply to the stored response. */
export class CacheFetch {
  readonly request: CacheRequest
  readonly exchange: Exchange
  readonly startedAt = now()
  /** Also null when the beginning of the body is dropped. */
  result: SharedResult | null = null
  times: ResponseTimes = { requestedAt: 0, receivedAt: 0, receivedEpoch: 0 }
  readonly context: FetchContext
  /** Canceled when the key becomes invalid during the fetch: no later request may get the response (RFC 9111 §4.4). */
  readonly reservation: Reservation
  readonly #waiters = new Map<CacheRequest, (result: FetchResult) => void>()
  readonly #unreadTimer = new CoalescedTimer(() => {
    const body = this.result?.body
    if (!(body instanceof BodyTee && body.isRead)) this.#abandon()
  })
  #isDetached: boolean
  #isFinished = false
  #validating: StoredResponse | null

  constructor(cause: Exchange, request: CacheRequest, context: FetchContext) {
    const { stored, partition, isDetached } = context
    this.request = request
    this.context = context
    this.#isDetached = isDetached
    this.#validating = stored !== null && hasValidator(stored.head) ? stored : null
    this.reservation = partition.reserve(toCacheKey(cause, request))
    this.exchange = createBackgroundExchange(cause, isDetached)
  }

  addWaiter(request: CacheRequest, onResult: (result: FetchResult) => void): void {
    this.#waiters.set(request, onResult)
  }

  removeWaiter(request: CacheRequest): void {
    this.#waiters.delete(request)
    if (this.#waiters.size === 0 && !this.#isDetached) this.#abandon()
  }

  /** The body is still stored, for later requests. */
  detach(): void {
    this.#isDetached = true
  }

  start(): void {
    const plain = withoutConditions(this.exchange.fields)
    this.exchange.fields = this.#validating === null ? plain : [...plain, ...conditionFields(this.#validating.head)]
    this.#send()
  }

  #send(): void {
    const requestedAt = now()
    this.context.next(this.exchange).then(
      (response) => {
        this.times = { requestedAt, receivedAt: now(), receivedEpoch: epochMs() }
        this.#onResponse(response)
      },
      (error) => {
        this.finish()
        this.#deliver({ kind: 'failed', error: GatewayError.from(error) })
      },
    )
  }

  #onResponse(response: ProxyResponse): void {
    const result = this.#toResult(response)
    if (result === null) {
      this.#validating = null
      this.exchange.fields = withoutConditions(this.exchange.fields)
      return this.#send()
    }
    const tee = result.kind === 'shared' && result.body instanceof BodyTee ? result.body : null
    if (tee === null) this.finish()
    else if (result.kind === 'shared') this.result = result
    this.#deliver(result)
    tee?.start()
    this.onReadersGone()
  }

  /** Null: the 304 is about another response than the stored one. */
  #toResult(response: ProxyResponse): FetchResult | null {
    const validated = response.status === 304 ? this.#validating : null
    // A response that the primary sent in place of the candidate says nothing of the candidate's stored response.
    const { fellBack } = this.exchange.attempts
    try {
      if (validated !== null) return fellBack ? null : storeNotModified(this, response, validated)
      if (!fellBack) return storeResponse(this, response)
    } catch (error) {
      this.context.events.onError(error)
      if (validated !== null) return { kind: 'none' }
    } finally {
      if (validated !== null) response.body.discard()
    }
    return { kind: 'unshared', response, notStored: null }
  }

  #deliver(result: FetchResult): void {
    if (result.kind === 'unshared' && !this.#waiters.has(this.request)) result.response.body.discard()
    const waiters = [...this.#waiters.values()]
    this.#waiters.clear()
    for (const onResult of waiters) onResult(result)
    if (result.kind === 'failed' && this.#isDetached) this.context.events.onRevalidationFailed(result.error)
  }

  onOverflow(): void {
    this.finish()
    this.#isDetached = false
    this.onReadersGone()
  }

  onReadersGone(): void {
    const body = this.result?.body
    if (!(body instanceof BodyTee) || body.ended || body.isRead) return
    if (this.#isDetached) this.#unreadTimer.set(unreadMs)
    else this.#abandon()
  }

  #abandon(): void {
    this.finish() // first, so that no request joins a failing fetch
    this.exchange.abort(
      new GatewayError('client-gone', {
        reason: 'no-client-waits',
        cause: new Error('all clients that waited have left'),
      }),
    )
  }

  finish(): void {
    this.#unreadTimer.clear()
    this.reservation.release()
    if (this.#isFinished) return
    this.#isFinished = true
    this.context.onClosed()
  }
}
