import type { Answer, CacheOutcome, Exchange } from '../../exchange.ts'
import type { Fields } from '../../fields.ts'
import type { Shared } from './fetching.ts'
import type { Part } from './part.ts'
import type { CacheRequest } from './policy/request.ts'
import { serve } from './policy/serving.ts'
import type { StoredHead } from './policy/stored.ts'
import type { Name } from './store.ts'
import { noBody, StoredBody } from './stored.ts'

/** Names what an exchange asks for. */
export const nameOf = ({ identity, query }: Exchange, { site }: CacheRequest): Name => ({
  client: identity?.client ?? '',
  site,
  query,
})

/** Notes what the cache did, for the access log and for whoever reads `Cache-Status` (RFC 9211). */
export const note = (exchange: Exchange, part: Part, outcome: CacheOutcome, status: string): void => {
  exchange.cache = outcome
  part.counts[outcome]++
  if (exchange.answerFields === null) exchange.answerFields = ['Cache-Status', status]
  else exchange.answerFields.push('Cache-Status', status)
}

/** Answers a request with a body that is all there. `fields` are what a plain answer would have. */
export const answerWhole = (head: StoredHead, body: StoredBody, request: CacheRequest, fields: Fields): Answer => {
  if (request.isPlain) return { status: head.status, reason: head.reason, fields, body }
  const served = serve(head, body.bytes.length, request, fields)
  return {
    status: served.status,
    reason: served.status === head.status ? head.reason : '',
    fields: served.fields,
    body:
      served.body === 'whole' ? body : served.body === 'none' ? noBody : body.part(served.body.start, served.body.end),
  }
}

/**
 * Answers a request with what a fetch has brought, of which the body may still be coming. `fields` as for {@link answerWhole}. Null: its beginning is
 * no longer there.
 */
export const answerShared = (
  exchange: Exchange,
  request: CacheRequest,
  { head, body }: Shared,
  fields: Fields,
): Answer | null => {
  if (body instanceof StoredBody) return answerWhole(head, body, request, fields)
  if (request.ifNoneMatch !== null || request.ifModifiedSince !== null) {
    // Who asks for a part does not wait for the whole, and is never answered here.
    const served = serve(head, null, request, fields)
    if (served.body === 'none') return { status: served.status, reason: '', fields: served.fields, body: noBody }
  }
  const reader = body.read(exchange)
  if (reader === null) return null
  exchange.whenAborted(() => reader.discard())
  return { status: head.status, reason: head.reason, fields, body: reader }
}
