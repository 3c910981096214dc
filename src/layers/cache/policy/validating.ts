import { type Fields, without } from '../../../fields.ts'
import type { AnswerHead, AnswerTimes } from './freshness.ts'
import { dateOf } from './freshness.ts'
import type { CacheRequest, CacheRules } from './request.ts'
import type { StoredHead } from './stored.ts'
import { type Storable, storable } from './storing.ts'
import { isWeak, matchesStrongly, matchesWeakly, type Validators, validatorsOf } from './validators.ts'

/**
 * Lists the conditions by which the upstream is asked whether what is stored is still good (RFC 9111 §4.3.1): all that there are. The client's own
 * have to be taken out first: a 304 would not say whose copy is meant.
 */
export const conditionFields = ({ etag, lastModified }: Validators): Fields => {
  const fields: string[] = []
  if (etag !== null) fields.push('If-None-Match', etag)
  if (lastModified !== null) fields.push('If-Modified-Since', lastModified)
  return fields
}

/**
 * Is what a 304 makes of what is stored: `updated`, and to be stored anew where there is still a head; `reused`: good for this one request, and
 * left as it is; `other`: the 304 is about something else, so it has to be fetched without a condition. `fields` are those to answer with.
 */
export type Refreshed =
  | { readonly kind: 'updated'; readonly stored: Storable; readonly fields: Fields }
  | { readonly kind: 'reused'; readonly fields: Fields }
  | { readonly kind: 'other' }

/**
 * Updates what is stored from the 304 that has come for it (RFC 9111 §3.2, §4.3.4). `request` is the one that was validated for. What the update
 * forbids to store is still an answer to it.
 */
export const refreshed = (
  head: StoredHead,
  request: CacheRequest,
  notModified: AnswerHead,
  times: AnswerTimes,
  rules: CacheRules,
): Refreshed => {
  const match = matched(head, validatorsOf(notModified.fields, null, times.receivedAt))
  if (match === 'other') return { kind: 'other' }
  if (match === 'unnamed') return { kind: 'reused', fields: head.fields }
  const fields = updated(head.fields, notModified.fields, times.receivedAt)
  const stored = storable(request, { status: head.status, reason: head.reason, fields }, times, rules)
  return { kind: 'updated', stored, fields }
}

/** Tells which answer a 304 is about (RFC 9111 §4.3.4): the stored one, another one, or it does not say. */
const matched = (head: StoredHead, told: Validators): 'stored' | 'other' | 'unnamed' => {
  const either = (matches: boolean): 'stored' | 'other' => (matches ? 'stored' : 'other')
  if (told.etag !== null && !isWeak(told.etag))
    return either(head.etag !== null && matchesStrongly(told.etag, head.etag))
  if (told.etag !== null && head.etag !== null) return either(matchesWeakly(told.etag, head.etag))
  if (told.lastModifiedAt !== null) return either(told.lastModifiedAt === head.lastModifiedAt)
  return told.etag === null ? 'unnamed' : 'other'
}

// RFC 9111 §3.2: the length is that of the body that is stored, and so are what it is coded with, a part of, and summed up by (RFC 9530 §2).
const ofTheBody = ['content-length', 'content-encoding', 'content-range', 'content-digest', 'content-md5']

/** Replaces the fields that a 304 brings. Without a Date it was made when it came, and not when what is stored was. */
const updated = (stored: Fields, brought: Fields, now: number): Fields => {
  const news = without(brought, new Set(ofTheBody))
  const replaced = new Set(news.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()))
  if (dateOf(news, now) === null) replaced.add('date')
  return [...without(stored, replaced), ...news]
}
