import { listHas } from './entity-tag.ts'
import { parseDate } from './http-date.ts'
import type { CacheRequest } from './request.ts'
import type { StoredHead } from './stored.ts'

/** Is what a client's conditions are compared with. */
type Compared = Pick<StoredHead, 'etag' | 'lastModifiedAt' | 'date' | 'receivedAt'>

/**
 * Tells whether the client has what is stored already, so that it is answered 304 (RFC 9110 §13.2.2, RFC 9111 §4.3.2). If-None-Match alone counts
 * where it is there. If-Match and If-Unmodified-Since do not get here.
 */
export const isNotModified = (head: Compared, { ifNoneMatch, ifModifiedSince }: CacheRequest): boolean => {
  if (ifNoneMatch !== null) {
    if (ifNoneMatch.trim() === '*') return true // RFC 9110 §13.1.2: there is one, whichever it is
    return head.etag !== null && listHas(ifNoneMatch, head.etag)
  }
  if (ifModifiedSince === null) return false
  const since = parseDate(ifModifiedSince, head.receivedAt)
  if (since === null) return false // §13.1.3: what is no single date is not there
  // Without Last-Modified, it was modified no later than it was made. Dates are in whole seconds.
  return (head.lastModifiedAt ?? head.date - (head.date % 1000)) <= since
}
