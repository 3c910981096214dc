import type { HeaderFields } from '../../../../src/core/exchange/header-fields.ts'
import { formatHttpDate } from '../../../../src/core/exchange/http1/http-date.ts'
import {
  type CacheRequest,
  type CacheRules,
  parseCacheRequest,
} from '../../../../src/features/cache/policy/cache-request.ts'
import {
  assessStorability,
  type NotStoredReason,
  type Storability,
} from '../../../../src/features/cache/policy/storability.ts'
import type { StoredHead } from '../../../../src/features/cache/policy/stored-head.ts'

/** When responses arrive, in milliseconds. */
export const noon = Date.UTC(2026, 10, 22, 12)

/** Creates the rules of an empty configuration, with changes. */
export const rules = (overrides: Partial<CacheRules> = {}): CacheRules => ({
  shared: false,
  credentials: ['x-api-key'],
  heuristic: false,
  ttl: null,
  staleIfError: null,
  staleWhileRevalidate: null,
  staleWhenDisconnected: 60_000,
  maxEntry: 1024 ** 2,
  ...overrides,
})

/** Writes a date so many seconds from noon. */
export const at = (seconds: number): string => formatHttpDate(noon + seconds * 1000)

/** Parses a request with these fields. */
export const createRequest = (fields: HeaderFields = [], overrides: Partial<CacheRules> = {}): CacheRequest =>
  parseCacheRequest(fields, { authority: 'gateway', hasBody: false, hasCertificate: false }, rules(overrides))

interface Given extends Partial<CacheRules> {
  readonly status?: number
  readonly request?: HeaderFields
  /** Milliseconds from the request to its response. */
  readonly delay?: number
}

/** Assesses a response that arrives at noon. */
export const assess = (
  fields: HeaderFields,
  { status = 200, request = [], delay = 0, ...overrides }: Given = {},
): Storability =>
  assessStorability(
    createRequest(request, overrides),
    { status, reason: '', fields },
    { requestedAt: noon - delay, receivedAt: noon, receivedEpoch: noon },
    rules(overrides),
  )

/** Stores a response, which must be possible. */
export const createStoredHead = (fields: HeaderFields, overrides: Given = {}): StoredHead => {
  const { head } = assess(fields, overrides)
  if (head === null) throw new Error(`not stored: ${getReason(fields, overrides)}`)
  return head
}

/** Returns why a response is not stored; null: it is. */
export const getReason = (fields: HeaderFields, overrides: Given = {}): NotStoredReason | null => {
  const decided = assess(fields, overrides)
  return decided.head === null ? decided.notStored : null
}
