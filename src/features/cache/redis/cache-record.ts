import { crc32 } from 'node:zlib'
import { type HeaderFields, isFieldValue, isHopByHop, isHttpToken } from '../../../core/exchange/header-fields.ts'
import { parseJson } from '../../../core/lib/plain-object.ts'
import type { CacheRequest, CacheRules } from '../policy/cache-request.ts'
import { assessStorability } from '../policy/storability.ts'
import { type StoredHead, withContentLength } from '../policy/stored-head.ts'
import type { CacheKey } from '../store/stored-response.ts'

export interface RecordKey extends CacheKey {
  readonly operation: string
  /** The digest of the configuration that decides what a response is. */
  readonly shape: string
}

/** The record of a response in Redis. Its reader computes the rest of the head again, by its own configuration. */
export interface CacheRecord extends Pick<StoredHead, 'status' | 'reason' | 'fields' | 'selecting'> {
  /**
   * When the response arrived by the writer's wall clock, in milliseconds since the epoch; and the same plus the time
   * until it was written, which the writer has measured.
   */
  readonly receivedAt: number
  readonly writtenAt: number
  readonly initialAgeMs: number
}

/**
 * Encodes the head of a stored response; the checksum also covers `body`. `now`: when that is written, on the monotonic
 * clock, which means nothing to the gateway that reads it.
 */
export const encodeRecord = (key: RecordKey, head: StoredHead, body: Buffer, now: number): Buffer => {
  const { operation, shape, client, site, query } = key
  const { status, reason, fields, selecting, bornAt } = head
  const receivedAt = head.receivedEpoch
  const writtenAt = receivedAt + (now - head.receivedAt)
  const initialAgeMs = head.receivedAt - bornAt
  const of = { operation, shape, client, site, query }
  const text = JSON.stringify({ of, status, reason, fields, selecting, receivedAt, writtenAt, initialAgeMs })
  return Buffer.from(checksum(text, body) + text)
}

/** Decodes a record; null: it is of another key, or no record at all. Never throws, whatever its input. */
export const decodeRecord = (key: RecordKey, head: Buffer, body: Buffer): CacheRecord | null => {
  const text = head.toString()
  const json = text.slice(checksumLength)
  if (checksum(json, body) !== text.slice(0, checksumLength)) return null
  const record = parseJson(json)
  return isRecord(record) && isOfKey(record.of, key) ? record : null
}

/**
 * Computes from a record the head that this request would have stored; null: it would store none, or another one.
 * `ageMs`: how long the record was in Redis. All times become those of this gateway's monotonic clock, `now`: an
 * error of the writer's clock does not matter, and no response is younger than when it was written.
 */
export const toStoredHead = (
  { status, reason, fields, selecting, receivedAt, writtenAt, initialAgeMs }: CacheRecord,
  bodyBytes: number,
  { request, rules, now, ageMs }: { request: CacheRequest; rules: CacheRules; now: number; ageMs: number },
): StoredHead | null => {
  const times = { requestedAt: receivedAt - initialAgeMs, receivedAt, receivedEpoch: receivedAt }
  const { head } = assessStorability(request, { status, reason, fields }, times, rules)
  if (head === null || head.selecting !== selecting) return null
  const complete = withContentLength(head, bodyBytes)
  if (complete === null) return null
  const shiftMs = now - Math.max(0, ageMs) - Math.max(receivedAt, writtenAt)
  return {
    ...complete,
    receivedAt: head.receivedAt + shiftMs,
    bornAt: head.bornAt + shiftMs,
    freshUntil: head.freshUntil + shiftMs,
    staleWhileRevalidateUntil: head.staleWhileRevalidateUntil + shiftMs,
    staleIfErrorUntil: head.staleIfErrorUntil + shiftMs,
    staleWhenDisconnectedUntil: head.staleWhenDisconnectedUntil + shiftMs,
  }
}

const checksumLength = 8

/** Detects damage on the way or in storage. It does not keep a client of Redis from writing what it likes. */
const checksum = (text: string, body: Buffer): string =>
  crc32(text, crc32(body)).toString(16).padStart(checksumLength, '0')

const isRecord = (record: unknown): record is CacheRecord & { readonly of: unknown } => {
  if (typeof record !== 'object' || record === null) return false
  const { status, reason, fields, selecting, receivedAt, writtenAt, initialAgeMs } = record as Partial<CacheRecord>
  return (
    Number.isInteger(status) &&
    Number(status) >= 200 &&
    Number(status) <= 999 &&
    isValue(reason) &&
    isFieldList(fields) &&
    typeof selecting === 'string' &&
    [receivedAt, writtenAt, initialAgeMs].every(isTime)
  )
}

// Up to the last millisecond of a JavaScript date.
const isTime = (ms: unknown): boolean => typeof ms === 'number' && ms >= 0 && ms <= 8.64e15

const isOfKey = (of: unknown, key: RecordKey): boolean =>
  typeof of === 'object' && of !== null && keyNames.every((name) => (of as Partial<RecordKey>)[name] === key[name])

const keyNames = ['operation', 'shape', 'client', 'site', 'query'] as const

// RFC 9110 §5.1, §5.5: what is neither would end a field, or the head.
const isFieldList = (fields: unknown): fields is HeaderFields =>
  Array.isArray(fields) &&
  fields.length % 2 === 0 &&
  fields.every((text, i) => (i % 2 === 0 ? isName(text) : isValue(text)))

const isName = (text: unknown): boolean => typeof text === 'string' && isHttpToken(text) && !isHopByHop(text)

const isValue = (text: unknown): boolean => typeof text === 'string' && isFieldValue(text)
