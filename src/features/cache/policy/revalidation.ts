import { type HeaderFields, omitFields } from '../../../core/exchange/header-fields.ts'
import type { CacheRequest, CacheRules } from './cache-request.ts'
import { type ReceivedHead, type ResponseTimes, readDate } from './freshness.ts'
import { assessStorability, type Storability } from './storability.ts'
import type { StoredHead } from './stored-head.ts'
import { isWeak, matchesStrongly, matchesWeakly, parseValidators, type Validators } from './validators.ts'

/**
 * Lists the conditions that validate a stored response with the upstream (RFC 9111 §4.3.1): all that there are. The
 * client's own must be removed first: otherwise a 304 would not say whose copy is meant.
 */
export const conditionFields = ({ etag, lastModified }: Validators): HeaderFields => {
  const fields: string[] = []
  if (etag !== null) fields.push('If-None-Match', etag)
  if (lastModified !== null) fields.push('If-Modified-Since', lastModified)
  return fields
}

/**
 * The effect of a 304 on a stored response. `updated`: to be stored anew where there is still a head. `reused`: good
 * for this one request, and left as it is. `other`: the 304 is about something else, so the gateway has to fetch
 * without a condition. `fields` are those to respond with.
 */
type FreshenResult =
  | { readonly kind: 'updated'; readonly stored: Storability; readonly fields: HeaderFields }
  | { readonly kind: 'reused'; readonly fields: HeaderFields }
  | { readonly kind: 'other' }

/**
 * Freshens a stored response from the 304 that has come for it (RFC 9111 §3.2, §4.3.4). `request` is the one that it
 * was validated for. A response that the update forbids to store still serves that request.
 */
export const freshenStored = (
  head: StoredHead,
  request: CacheRequest,
  notModified: ReceivedHead,
  times: ResponseTimes,
  rules: CacheRules,
): FreshenResult => {
  const match = matchNotModified(head, parseValidators(notModified.fields, null, times.receivedEpoch))
  if (match === 'other') return { kind: 'other' }
  if (match === 'unnamed') return { kind: 'reused', fields: head.fields }
  const fields = updateFields(head.fields, notModified.fields, times.receivedEpoch)
  const stored = assessStorability(request, { status: head.status, reason: head.reason, fields }, times, rules)
  return { kind: 'updated', stored, fields }
}

/** Returns which response a 304 is about (RFC 9111 §4.3.4): the stored one, another one, or it does not say. */
const matchNotModified = (head: StoredHead, validators: Validators): 'stored' | 'other' | 'unnamed' => {
  const either = (matches: boolean): 'stored' | 'other' => (matches ? 'stored' : 'other')
  if (validators.etag !== null && !isWeak(validators.etag))
    return either(head.etag !== null && matchesStrongly(validators.etag, head.etag))
  if (validators.etag !== null && head.etag !== null) return either(matchesWeakly(validators.etag, head.etag))
  if (validators.lastModifiedAt !== null) return either(validators.lastModifiedAt === head.lastModifiedAt)
  return validators.etag === null ? 'unnamed' : 'other'
}

// RFC 9111 §3.2: the length is that of the stored body. So are its coding, its range and its digests (RFC 9530 §2).
const bodyFields = ['content-length', 'content-encoding', 'content-range', 'content-digest', 'content-md5']

/**
 * Replaces the fields that a 304 has. Without a Date it was made when it arrived, and not when the stored response was.
 */
const updateFields = (stored: HeaderFields, received: HeaderFields, now: number): HeaderFields => {
  const replacements = omitFields(received, new Set(bodyFields))
  const replaced = new Set(replacements.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()))
  if (readDate(replacements, now) === null) replaced.add('date')
  return [...omitFields(stored, replaced), ...replacements]
}
