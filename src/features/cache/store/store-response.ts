import type { Exchange, ProxyResponse } from '../../../core/exchange/exchange.ts'
import { getFirstFieldValue, omitFields, perExchangeFields } from '../../../core/exchange/header-fields.ts'
import type { FetchContext, FetchResult, SharedResult } from '../fetch-context.ts'
import type { CacheRequest } from '../policy/cache-request.ts'
import type { ResponseTimes } from '../policy/freshness.ts'
import { keepsPlace } from '../policy/reuse.ts'
import { isClientFaultStatus, isClientRejectionStatus, isServerError } from '../policy/status-codes.ts'
import { assessStorability, freshenStored, isReasonOfRequest, type NotStoredReason } from '../policy/storability.ts'
import { type StoredHead, selectVariant, withContentLength } from '../policy/stored-head.ts'
import { BodyTee } from './body-tee.ts'
import type { Reservation } from './cache-store.ts'
import { ownCopy, StoredBody, type StoredResponse } from './stored-response.ts'

interface StoringFetch {
  readonly request: CacheRequest
  readonly context: FetchContext
  readonly reservation: Reservation
  readonly times: ResponseTimes
  readonly exchange: Pick<Exchange, 'attempts'>
  /** From now on, exchanges cannot join. */
  finish(): void
  onOverflow(): void
  /** A reader has left, possibly the last. */
  onReadersGone(): void
}

export const storeResponse = (fetch: StoringFetch, response: ProxyResponse): FetchResult => {
  const { request, context, times, reservation } = fetch
  const { rules, partition, key } = context
  const { status, fields, body } = response
  // Not `context.stored`: another fetch may have stored a better response meanwhile.
  const present = selectVariant(partition.find(key)?.variants ?? [], request)
  if (present !== null && keepsPlace(present.head, status, request, times.receivedAt))
    return unsharedResult(response, 'stale-if-error')
  const verdict = assessStorability(request, withoutPerExchangeFields(response), times, rules)
  if (verdict.head === null) return rejectResponse(fetch, response, verdict.notStored)
  if (fetch.exchange.attempts.last?.mayBeCut === true) return rejectResponse(fetch, response, 'may-be-cut')
  const { head } = verdict
  const whole = body.takeBuffered()
  if (whole !== null) {
    const stored = new StoredBody(ownCopy(whole))
    const complete = storeComplete(fetch, head, stored)
    // The response's own body has been read.
    return complete === null
      ? unsharedResult({ ...response, body: stored }, 'too-large')
      : { ...newShared, ...complete, fields, body: stored }
  }
  const declared = declaredLength(response)
  const maxBytes = rules.maxEntry - head.bytes
  if (declared === undefined) return rejectResponse(fetch, response, 'bad-length')
  if ((declared ?? 0) > maxBytes) return rejectResponse(fetch, response, 'too-large')
  if (!reservation.grow((declared ?? 0) + head.bytes)) return unsharedResult(response, 'no-room')
  const tee = new BodyTee({
    body,
    declared,
    maxBytes,
    reservation,
    onComplete: (bytes, readers) => {
      const stored = new StoredBody(bytes)
      storeComplete(fetch, head, stored)
      for (const { exchange } of readers) partition.pin(exchange, stored)
      fetch.finish()
    },
    onOverflow: () => {
      discardStored(fetch, status, 'too-large')
      fetch.onOverflow()
    },
    onFailed: () => fetch.finish(),
    onReadersGone: () => fetch.onReadersGone(),
  })
  return { ...newShared, head, fields, body: tee, isStored: !reservation.isCanceled }
}

const rejectResponse = (fetch: StoringFetch, response: ProxyResponse, why: NotStoredReason): FetchResult => {
  discardStored(fetch, response.status, why)
  return unsharedResult(response, why)
}

/** Null: none; undefined: invalid. */
const declaredLength = ({ fields }: Pick<ProxyResponse, 'fields'>): number | null | undefined => {
  const value = getFirstFieldValue(fields, 'content-length')
  if (value === undefined) return null
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

const newShared = { kind: 'shared', isValidated: false, isShareable: true, notStored: null } as const

/** RFC 9111 §4.3.4. Null: the 304 was about another response. */
export const storeNotModified = (
  fetch: StoringFetch,
  response: ProxyResponse,
  validated: StoredResponse,
): FetchResult | null => {
  const { request, context, times } = fetch
  const update = freshenStored(validated.head, request, withoutPerExchangeFields(response), times, context.rules)
  if (update.kind === 'other') return null
  const { fields } = update
  const { head, body } = validated
  const result = { ...newShared, head, fields, body, isValidated: true, isShareable: false, isStored: false }
  if (update.kind === 'reused') return result
  const { stored } = update
  if (stored.head !== null) {
    const isStored = put(fetch, { head: stored.head, body })
    return { ...result, head: stored.head, isShareable: true, isStored }
  }
  discardStored(fetch, response.status, stored.notStored)
  return { ...result, notStored: stored.notStored }
}

const unsharedResult = (response: ProxyResponse, notStored: NotStoredReason): FetchResult => ({
  kind: 'unshared',
  response,
  notStored,
})

const withoutPerExchangeFields = (response: ProxyResponse): ProxyResponse => ({
  ...response,
  fields: omitFields(response.fields, perExchangeFields),
})

/** Null: may not be stored. Never throws: the body is on its way to clients. */
const storeComplete = (
  fetch: StoringFetch,
  head: StoredHead,
  body: StoredBody,
): Pick<SharedResult, 'head' | 'isStored'> | null => {
  const { rules, events } = fetch.context
  try {
    const complete = withContentLength(head, body.bytes.length)
    if (complete === null || complete.bytes + body.bytes.length > rules.maxEntry) return null
    return { head: complete, isStored: put(fetch, { head: complete, body }) }
  } catch (error) {
    events.onError(error)
    return null
  }
}

/** Returns whether it is stored. A response with a later Date that arrived meanwhile stays (RFC 9111 §4). */
const put = (fetch: StoringFetch, entry: StoredResponse): boolean => {
  const { request, times, reservation } = fetch
  const { partition, key, tierLookup } = fetch.context
  const present = selectVariant(partition.find(key)?.variants ?? [], request)
  if (present !== null && present.head.receivedAt > times.requestedAt && present.head.date > entry.head.date)
    return false
  const isStored = partition.put(reservation, entry, isSelectedBy(fetch))
  if (!reservation.isCanceled) tierLookup?.store(entry)
  return isStored
}

/** A response is about all variants that its request could have selected (RFC 9111 §4.3.3, §4.3.4). */
const isSelectedBy =
  ({ request, context: { stored } }: StoringFetch) =>
  (other: StoredResponse): boolean =>
    other === stored || selectVariant([other], request) !== null

/**
 * The upstream no longer sends the stored response. A server error or a client's fault says nothing about it. A 401,
 * 403, 407 or a reason in the credentials is about responses stored for that client: for such requests the upstream may
 * omit `public` (RFC 9111 §3.5).
 */
const discardStored = (fetch: StoringFetch, status: number, why: NotStoredReason): void => {
  const { partition, key, stored, tierLookup } = fetch.context
  if (isServerError(status) || isClientFaultStatus(status)) return
  const isOfClient = isClientRejectionStatus(status) || isReasonOfRequest(why)
  if (isOfClient && fetch.reservation.cacheKey.client === '') return
  // The shared tier may have loaded a later response since the fetch began.
  const isBefore = ({ head }: StoredResponse): boolean => stored !== null || head.receivedAt < fetch.times.requestedAt
  const isSelected = isSelectedBy(fetch)
  partition.remove(key, (other) => isBefore(other) && isSelected(other))
  tierLookup?.remove()
  partition.hitForMiss.mark(key, why)
}
