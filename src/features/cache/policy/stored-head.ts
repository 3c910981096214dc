import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { fieldLines } from './header-list.ts'
import type { Validators } from './validators.ts'

/**
 * The head of a stored response. All that a hit needs is computed when it is stored. Plain data: it can be written as
 * JSON. Times are milliseconds of the monotonic clock, unless they say that they are since the epoch.
 */
export interface StoredHead extends Validators {
  readonly status: number
  readonly reason: string
  /**
   * The fields to send, without `Age`: all that it came with, less what may not be stored (RFC 9111 §3.1). There is
   * always a `Date`.
   */
  readonly fields: HeaderFields
  /** The time of its `Date`, since the epoch: of two matching responses, the later one is selected (§4.1). */
  readonly date: number
  readonly receivedAt: number
  /** The same by the wall clock of the gateway that received it, since the epoch. */
  readonly receivedEpoch: number
  /** The time at which its age was 0: its current age is the time since then (§4.2.3). */
  readonly bornAt: number
  /** The end of its freshness lifetime (§4.2.1). */
  readonly freshUntil: number
  /** Whether its freshness lifetime is a guess (§4.2.2). */
  readonly isHeuristic: boolean
  /** Whether it has to be validated each time (§5.2.2.4). */
  readonly noCache: boolean
  /**
   * Whether it may ever be served stale: `must-revalidate`, `proxy-revalidate`, `s-maxage` and `no-cache` forbid it
   * (§4.2.4), and so does a status of 5xx.
   */
  readonly mayBeStale: boolean
  /**
   * The end of the time in which it may be served stale while it is validated (RFC 5861 §3). Where it may never be
   * stale, this and the next two are `freshUntil`.
   */
  readonly staleWhileRevalidateUntil: number
  /** The end of the time in which it may be served in place of an error (RFC 5861 §4). */
  readonly staleIfErrorUntil: number
  /** The end of the time in which it may be served because the upstream cannot be reached (RFC 9111 §4.2.4). */
  readonly staleWhenDisconnectedUntil: number
  /** The request fields it was selected by: lower case, sorted, each once (§4.1). */
  readonly varies: readonly string[]
  /** The values of these fields, as `selectingKey` writes them. */
  readonly selecting: string
  /** The bytes that it counts in the cache, without its body. */
  readonly bytes: number
}

export const servableUntil = (head: StoredHead): number =>
  Math.max(head.freshUntil, head.staleWhileRevalidateUntil, head.staleIfErrorUntil, head.staleWhenDisconnectedUntil)

/** Computes its age in milliseconds (RFC 9111 §4.2.3). */
export const currentAge = ({ bornAt }: StoredHead, now: number): number => Math.max(0, now - bornAt)

/**
 * Completes a head when the body has ended: adds `Content-Length`, where it came without. Null: the body does not have
 * the declared length.
 */
export const withContentLength = (head: StoredHead, bodyBytes: number): StoredHead | null => {
  const lengths = fieldLines(head.fields, 'content-length')
  if (lengths.length > 0) return lengths.every((length) => length === `${bodyBytes}`) ? head : null
  if (head.status === 204) return head // RFC 9110 §8.6: it has none
  const complete = { ...head, fields: [...head.fields, 'Content-Length', `${bodyBytes}`] }
  return { ...complete, bytes: headMemoryBytes(complete) }
}

// The size of an object of this shape, and of a string besides its characters.
const headBytes = 400
const stringBytes = 32

/** Estimates the memory of a head: strings are latin1, a byte a character. */
export const headMemoryBytes = ({ fields, varies, selecting }: Omit<StoredHead, 'bytes'>): number => {
  let bytes = headBytes + selecting.length
  for (const text of fields) bytes += text.length + stringBytes
  for (const name of varies) bytes += name.length + stringBytes
  return bytes
}
