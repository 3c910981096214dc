import type { HeaderFields } from '../../../header-fields.ts'
import { fieldLines } from './header-list.ts'
import type { Validators } from './validators.ts'

/**
 * Is the head of a stored answer. Whatever a hit has to know of it is computed when it is stored. Plain data: it can be written as JSON. Times are
 * milliseconds of the wall clock.
 */
export interface StoredHead extends Validators {
  readonly status: number
  readonly reason: string
  /** What is sent with it but for `Age`: all that it came with, less what may not be stored (RFC 9111 §3.1). There is always a `Date`. */
  readonly fields: HeaderFields
  /** When it was made, by its `Date`: of two that match, the later one is chosen (§4.1). */
  readonly date: number
  /** When it arrived. */
  readonly receivedAt: number
  /** When its age was 0: what has passed since then is its current age (§4.2.3). */
  readonly bornAt: number
  /** When its freshness lifetime is over (§4.2.1). */
  readonly freshUntil: number
  /** Whether how long it is fresh is a guess (§4.2.2). */
  readonly isHeuristic: boolean
  /** Whether it has to be validated each time (§5.2.2.4). */
  readonly noCache: boolean
  /**
   * Whether it may ever be served stale: `must-revalidate`, `proxy-revalidate`, `s-maxage` and `no-cache` forbid it (§4.2.4), and so does a status
   * of 5xx.
   */
  readonly mayBeStale: boolean
  /** Until when it may be served stale while it is validated (RFC 5861 §3). Never, where it may not be stale: this and the next two are `freshUntil`. */
  readonly staleWhileRevalidateUntil: number
  /** Until when it may be served in place of an error (RFC 5861 §4). */
  readonly staleIfErrorUntil: number
  /** Until when it may be served because the upstream cannot be reached (RFC 9111 §4.2.4). */
  readonly staleWhenDisconnectedUntil: number
  /** Which request fields it was selected by: lower case, sorted, each once (§4.1). */
  readonly varies: readonly string[]
  /** What these fields said, as `selectingKey` writes it. */
  readonly selecting: string
  /** What it counts against the bound of the cache, its body not among it. */
  readonly bytes: number
}

/** Tells until when it may be served, in whatever case. */
export const servableUntil = (head: StoredHead): number =>
  Math.max(head.freshUntil, head.staleWhileRevalidateUntil, head.staleIfErrorUntil, head.staleWhenDisconnectedUntil)

/** Tells how old it is in milliseconds (RFC 9111 §4.2.3). */
export const currentAge = ({ bornAt }: StoredHead, now: number): number => Math.max(0, now - bornAt)

/** Completes a head whose body has ended: with `Content-Length`, where it came without. Null: the body is not as long as it says. */
export const withContentLength = (head: StoredHead, bodyBytes: number): StoredHead | null => {
  const lengths = fieldLines(head.fields, 'content-length')
  if (lengths.length > 0) return lengths.every((length) => length === `${bodyBytes}`) ? head : null
  if (head.status === 204) return head // RFC 9110 §8.6: it has none
  const complete = { ...head, fields: [...head.fields, 'Content-Length', `${bodyBytes}`] }
  return { ...complete, bytes: headMemoryBytes(complete) }
}

// What an object of this shape takes up, and a string beside its characters.
const headBytes = 400
const stringBytes = 32

/** Counts what a head takes up in memory, roughly: strings are latin1, a byte a character. */
export const headMemoryBytes = ({ fields, varies, selecting }: Omit<StoredHead, 'bytes'>): number => {
  let bytes = headBytes + selecting.length
  for (const text of fields) bytes += text.length + stringBytes
  for (const name of varies) bytes += name.length + stringBytes
  return bytes
}
