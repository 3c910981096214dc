import type { HeaderFields } from '../../../../src/header-fields.ts'
import {
  type CacheRequest,
  type CacheRules,
  parseCacheRequest,
} from '../../../../src/layers/cache/policy/cache-request.ts'
import { formatHttpDate } from '../../../../src/layers/cache/policy/http-date.ts'
import {
  assessStorability,
  type NotStoredReason,
  type Storability,
} from '../../../../src/layers/cache/policy/storability.ts'
import type { StoredHead } from '../../../../src/layers/cache/policy/stored-head.ts'

/** When responses arrive, in milliseconds. */
export const noon = Date.UTC(2026, 10, 22, 12)

/** Creates the rules of an empty configuration, with changes. */
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
export const at = (seconds: number): string => formatHttpDate(noon + seconds * 1000)

/** Parses a request with these fields. */
export const createRequest = (fields: HeaderFields = [], given: Partial<CacheRules> = {}): CacheRequest =>
  parseCacheRequest(fields, { authority: 'gateway', hasBody: false, hasCertificate: false }, rules(given))

interface Given extends Partial<CacheRules> {
  readonly status?: number
  readonly request?: HeaderFields
  /** Milliseconds from the request to its response. */
  readonly delay?: number
}

/** Assesses a response that arrives at noon. */
export const assess = (
  fields: HeaderFields,
  { status = 200, request = [], delay = 0, ...given }: Given = {},
): Storability =>
  assessStorability(
    createRequest(request, given),
    { status, reason: '', fields },
    { requestedAt: noon - delay, receivedAt: noon },
    rules(given),
  )

/** Stores a response, which must be possible. */
export const createStoredHead = (fields: HeaderFields, given: Given = {}): StoredHead => {
  const { head } = assess(fields, given)
  if (head === null) throw new Error(`not stored: ${getReason(fields, given)}`)
  return head
}

/** Returns why a response is not stored; null: it is. */
export const getReason = (fields: HeaderFields, given: Given = {}): NotStoredReason | null => {
  const decided = assess(fields, given)
  return decided.head === null ? decided.notStored : null
}
