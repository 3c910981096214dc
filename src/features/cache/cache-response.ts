import type { Exchange, ProxyResponse } from '../../core/exchange/exchange.ts'
import type { CacheOutcome } from '../../core/exchange/exchange-outcomes.ts'
import type { HeaderFields } from '../../core/exchange/header-fields.ts'
import { epochMs, toEpochMs } from '../../core/lib/clock.ts'
import type { SharedResult } from './fetch-context.ts'
import type { CachePartition } from './partition.ts'
import type { CacheRequest } from './policy/cache-request.ts'
import { planResponse } from './policy/respond.ts'
import type { StoredHead } from './policy/stored-head.ts'
import type { CacheKey } from './store/reservation.ts'
import { emptyStoredBody, StoredBody } from './store/stored-response.ts'

export const toCacheKey = ({ identity, query }: Exchange, { site }: CacheRequest): CacheKey => ({
  client: identity?.client ?? '',
  site,
  query,
})

/** Records what the cache did, for the access log and for readers of `Cache-Status` (RFC 9211). */
export const recordCacheOutcome = (
  exchange: Exchange,
  partition: CachePartition,
  outcome: CacheOutcome,
  status: string,
): void => {
  const stored = outcome === 'miss' || outcome === 'bypass' ? null : 'side-of-client'
  exchange.outcome = { source: 'cache', outcome, firstRequestId: null, stored, isAudited: false }
  partition.tally.counts[outcome]++
  if (exchange.addedResponseFields === null) exchange.addedResponseFields = ['Cache-Status', status]
  else exchange.addedResponseFields.push('Cache-Status', status)
}

/** Records that a client gets an error that was stored, or validated, and is not the upstream's response to it. */
export const recordIfError = (partition: CachePartition, { status, receivedAt, freshUntil }: StoredHead): void => {
  if (status < 500) return
  const [sentAt, fresh] = [toEpochMs(receivedAt), toEpochMs(freshUntil)]
  partition.tally.lastError = { status, sentAt, freshUntil: fresh, servedAt: epochMs() }
}

/** Responds with a body that is all there. `fields` are those of a plain response. */
export const respondFromStored = (
  head: StoredHead,
  body: StoredBody,
  request: CacheRequest,
  fields: HeaderFields,
): ProxyResponse => {
  if (request.isPlain) return { status: head.status, reason: head.reason, fields, body }
  const plan = planResponse(head, body.bytes.length, request, fields)
  return {
    status: plan.status,
    reason: plan.status === head.status ? head.reason : '',
    fields: plan.fields,
    body:
      plan.body === 'whole'
        ? body
        : plan.body === 'none'
          ? emptyStoredBody
          : body.slice(plan.body.start, plan.body.end),
  }
}

/**
 * Responds with the result of a fetch, whose body may still be coming. `fields` as for {@link respondFromStored}. Null:
 * the beginning of the body is gone.
 */
export const respondFromResult = (
  exchange: Exchange,
  request: CacheRequest,
  { head, body }: SharedResult,
  fields: HeaderFields,
): ProxyResponse | null => {
  if (body instanceof StoredBody) return respondFromStored(head, body, request, fields)
  if (request.ifNoneMatch !== null || request.ifModifiedSince !== null) {
    // A range request does not wait for the whole, and is never served here.
    const plan = planResponse(head, null, request, fields)
    if (plan.body === 'none') return { status: plan.status, reason: '', fields: plan.fields, body: emptyStoredBody }
  }
  const reader = body.openReader(exchange)
  if (reader === null) return null
  exchange.setAbortListener(() => reader.discard())
  return { status: head.status, reason: head.reason, fields, body: reader }
}
