import type { Fields } from '../../../fields.ts'
import type { CacheRequest } from './request.ts'
import type { CacheRules } from './rules.ts'
import type { StoredHead } from './stored.ts'

/** Is the head of an answer as it came: end-to-end fields only. */
export interface AnswerHead {
  readonly status: number
  readonly reason: string
  readonly fields: Fields
}

/** Is when a request went out and when the head of its answer came, on the wall clock, in milliseconds. */
export interface AnswerTimes {
  readonly requestedAt: number
  readonly receivedAt: number
}

/** Says why an answer is not stored. */
export type NotStored =
  | 'status'
  | 'no-store'
  | 'private'
  | 'authorization'
  | 'set-cookie'
  | 'vary'
  | 'no-freshness'
  | 'credentials'
  | 'useless'

/** Is the head that is stored, or why none is. */
export type Storable = { readonly head: StoredHead } | { readonly head: null; readonly not: NotStored }

/** Decides whether an answer may be stored, and computes all that is to be known of it (RFC 9111 §3). */
export const storable = (
  _request: CacheRequest,
  _answer: AnswerHead,
  _times: AnswerTimes,
  _rules: CacheRules,
): Storable => {
  throw new Error('not written yet')
}
