import type { Fields } from '../../../fields.ts'
import type { CacheRequest } from './request.ts'
import type { StoredHead } from './stored.ts'

/** Is what a client is answered: the whole body, or none of it, or its bytes from `start` until before `end`. */
export interface Served {
  readonly status: number
  /** With `Content-Length` as it is for this body. */
  readonly fields: Fields
  readonly body: 'whole' | 'none' | { readonly start: number; readonly end: number }
}

/** Lists the fields of a stored answer that is used without asking the upstream: those that are stored, and its `Age` (RFC 9111 §4, §5.1). */
export const storedFields = (_head: StoredHead, _now: number): string[] => {
  throw new Error('not written yet')
}

/**
 * Answers a request from what is stored, or has just come: its conditions first, then its Range (RFC 9110 §13.2.2). `fields` are what a plain 200
 * would have: {@link storedFields}, or those that the upstream has just sent. One whose `isPlain` is true gets the whole.
 */
export const serve = (_head: StoredHead, _bodyBytes: number, _request: CacheRequest, _fields: Fields): Served => {
  throw new Error('not written yet')
}
