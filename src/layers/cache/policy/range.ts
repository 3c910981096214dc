import { isEntityTag, matchesStrongly } from './entity-tag.ts'
import { parseDate } from './http-date.ts'
import { membersOf } from './list.ts'
import type { CacheRequest } from './request.ts'
import type { StoredHead } from './stored.ts'

/** Is a part of a body: its bytes from `start` until before `end`. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

const intRange = /^(\d+)-(\d*)$/
const suffixRange = /^-(\d+)$/

/**
 * Reads which part of a body of so many bytes is asked for (RFC 9110 §14.1.2). Null: the Range is not followed, because it is invalid, in another
 * unit, or about several parts: all of it is always a right answer (§14.2).
 */
export const byteRange = (range: string, bodyBytes: number): ByteRange | 'unsatisfiable' | null => {
  const at = range.indexOf('=')
  if (at < 0 || range.slice(0, at).trim().toLowerCase() !== 'bytes') return null
  const [spec, ...others] = membersOf(range.slice(at + 1)).members
  if (spec === undefined || others.length > 0) return null

  const suffix = suffixRange.exec(spec)?.[1]
  if (suffix !== undefined) {
    if (Number(suffix) === 0) return 'unsatisfiable'
    // The last bytes of nothing are nothing, which no Content-Range can say.
    return bodyBytes === 0 ? null : { start: Math.max(0, bodyBytes - Number(suffix)), end: bodyBytes }
  }
  const [, first, last] = intRange.exec(spec) ?? []
  if (first === undefined || last === undefined) return null
  if (last !== '' && Number(last) < Number(first)) return null
  if (Number(first) >= bodyBytes) return 'unsatisfiable'
  return { start: Number(first), end: last === '' ? bodyBytes : Math.min(Number(last) + 1, bodyBytes) }
}

/** Is what If-Range is compared with. */
type Compared = Pick<StoredHead, 'etag' | 'lastModifiedAt' | 'isLastModifiedStrong' | 'receivedAt'>

/** Tells whether what the client has is a part of just this (RFC 9110 §13.1.5): both validators have to be strong. */
export const rangeApplies = (head: Compared, { ifRange }: CacheRequest): boolean => {
  if (ifRange === null) return true
  if (isEntityTag(ifRange.trim())) return head.etag !== null && matchesStrongly(ifRange.trim(), head.etag)
  const date = parseDate(ifRange, head.receivedAt)
  return date !== null && head.isLastModifiedStrong && date === head.lastModifiedAt
}
