import type { Fields } from '../../../fields.ts'
import type { CacheRequest } from './request.ts'
import type { CacheRules } from './rules.ts'
import type { StoredHead } from './stored.ts'
import type { AnswerHead, AnswerTimes, Storable } from './storing.ts'

/** Tells whether the upstream can be asked if it is still good. */
export const hasValidator = ({ etag, lastModified }: StoredHead): boolean => etag !== null || lastModified !== null

/** Lists the conditions by which the upstream is asked whether what is stored is still good (RFC 9111 §4.3.1). */
export const conditionFields = (_head: StoredHead): Fields => {
  throw new Error('not written yet')
}

/**
 * Is what a 304 makes of what is stored: `updated`, and to be stored anew where there is still a head; `reused`: good for this one request, and
 * left as it is; `other`: the 304 is about something else, so it has to be fetched without a condition. `fields` are those to answer with.
 */
export type Refreshed =
  | { readonly kind: 'updated'; readonly stored: Storable; readonly fields: Fields }
  | { readonly kind: 'reused'; readonly fields: Fields }
  | { readonly kind: 'other' }

/** Updates what is stored from the 304 that has come for it (RFC 9111 §3.2, §4.3.4). `request` is the one that was validated for. */
export const refreshed = (
  _head: StoredHead,
  _request: CacheRequest,
  _notModified: AnswerHead,
  _times: AnswerTimes,
  _rules: CacheRules,
): Refreshed => {
  throw new Error('not written yet')
}
