import type { Fields } from '../../../../src/fields.ts'
import { writeDate } from '../../../../src/layers/cache/policy/http-date.ts'
import { type CacheRequest, type CacheRules, readRequest } from '../../../../src/layers/cache/policy/request.ts'
import type { StoredHead } from '../../../../src/layers/cache/policy/stored.ts'
import { type NotStored, type Storable, storable } from '../../../../src/layers/cache/policy/storing.ts'

/** When answers arrive, in milliseconds. */
export const noon = Date.UTC(2026, 10, 22, 12)

/** Is the rules as they are when nothing is configured, but for what is given. */
export const rules = (given: Partial<CacheRules> = {}): CacheRules => ({
  shared: false,
  credentials: ['x-api-key'],
  heuristic: false,
  staleIfError: null,
  staleWhileRevalidate: null,
  staleWhenDisconnected: 60_000,
  maxEntry: 1024 ** 2,
  ...given,
})

/** Writes a date so many seconds from noon. */
export const at = (seconds: number): string => writeDate(noon + seconds * 1000)

/** Reads a request with these fields. */
export const asking = (fields: Fields = [], given: Partial<CacheRules> = {}): CacheRequest =>
  readRequest(fields, { authority: 'gateway', hasBody: false, hasCertificate: false }, rules(given))

interface Given extends Partial<CacheRules> {
  readonly status?: number
  readonly request?: Fields
  /** Milliseconds from the request to its answer. */
  readonly delay?: number
}

/** Decides about an answer that arrives at noon. */
export const deciding = (fields: Fields, { status = 200, request = [], delay = 0, ...given }: Given = {}): Storable =>
  storable(
    asking(request, given),
    { status, reason: '', fields },
    { requestedAt: noon - delay, receivedAt: noon },
    rules(given),
  )

/** Stores an answer, which must be possible. */
export const storing = (fields: Fields, given: Given = {}): StoredHead => {
  const { head } = deciding(fields, given)
  if (head === null) throw new Error(`not stored: ${why(fields, given)}`)
  return head
}

/** Says why an answer is not stored; null: it is. */
export const why = (fields: Fields, given: Given = {}): NotStored | null => {
  const decided = deciding(fields, given)
  return decided.head === null ? decided.not : null
}
