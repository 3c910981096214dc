import { crc32 } from 'node:zlib'
import { type HeaderFields, isFieldValue, isHopByHop, isHttpToken } from '../../../core/exchange/header-fields.ts'
import { parseJson } from '../../../core/lib/plain-object.ts'
import type { CacheRequest, CacheRules } from '../policy/cache-request.ts'
import { assessStorability } from '../policy/storability.ts'
import { type StoredHead, withContentLength } from '../policy/stored-head.ts'
import type { CacheKey, StoredBody } from '../store/stored-response.ts'

export interface RecordKey extends CacheKey {
  readonly operation: string
  /** Digest of the configuration that shapes responses. */
  readonly shape: string
}

/** The reader computes the rest of the head by its own configuration. */
export interface CacheRecord extends Pick<StoredHead, 'status' | 'reason' | 'fields' | 'selecting'> {
  /** Wall clock of the writer. `writtenAt` adds the measured time until the write. */
  readonly receivedAt: number
  readonly writtenAt: number
  readonly initialAgeMs: number
}

/** The checksum covers `body`. `now`: time of the write, on the monotonic clock. */
export const encodeRecord = (key: RecordKey, head: StoredHead, body: Buffer, now: number): Buffer => {
  const { operation, shape, client, site, query } = key
  const { status, reason, fields, selecting, bornAt } = head
  const receivedAt = head.receivedEpoch
  const times = { receivedAt, writtenAt: receivedAt + (now - head.receivedAt), initialAgeMs: head.receivedAt - bornAt }
  const of = { operation, shape, client, site, query }
  const text = JSON.stringify({ of, status, reason, fields, selecting, ...times })
  return Buffer.from(checksum(text, body) + text)
}

/** Null: invalid, or another key's record. Never throws. */
export const decodeRecord = (key: RecordKey, head: Buffer, body: Buffer): CacheRecord | null => {
  const text = head.toString()
  const json = text.slice(checksumLength)
  if (checksum(json, body) !== text.slice(0, checksumLength)) return null
  const record = parseJson(json)
  return isRecord(record) && isOfKey(record.of, key) ? record : null
}

/** `ageMs`: the record's time in Redis at `now`, on the monotonic clock. */
export interface FoundRecord {
  readonly record: CacheRecord
  readonly body: StoredBody
  readonly ageMs: number
  readonly now: number
}

/** As `request` would have stored it; null: not at all. A writer's wrong clock makes no response younger. */
export const toStoredHead = (
  { record, body, now, ageMs }: FoundRecord,
  request: CacheRequest,
  rules: CacheRules,
): StoredHead | null => {
  const { selecting, receivedAt: receivedEpoch, writtenAt, initialAgeMs } = record
  const receivedAt = now - Math.max(0, ageMs) - Math.max(0, writtenAt - receivedEpoch)
  const times = { requestedAt: receivedAt - initialAgeMs, receivedAt, receivedEpoch }
  const { head } = assessStorability(request, record, times, rules)
  return head?.selecting === selecting ? withContentLength(head, body.bytes.length) : null
}

const checksumLength = 8

/** Detects damage, not attacks: a client of Redis can write any record. */
const checksum = (text: string, body: Buffer): string =>
  crc32(text, crc32(body)).toString(16).padStart(checksumLength, '0')

const isRecord = (record: unknown): record is CacheRecord & { readonly of: unknown } => {
  if (typeof record !== 'object' || record === null) return false
  const { status, reason, fields, selecting, receivedAt, writtenAt, initialAgeMs } = record as Partial<CacheRecord>
  const isStatus = Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 999
  return (
    isStatus &&
    isValue(reason) &&
    isFieldList(fields) &&
    typeof selecting === 'string' &&
    [receivedAt, writtenAt, initialAgeMs].every(isTime)
  )
}

// The last millisecond of a JavaScript Date.
const isTime = (ms: unknown): boolean => typeof ms === 'number' && ms >= 0 && ms <= 8.64e15

const isOfKey = (of: unknown, key: RecordKey): boolean =>
  typeof of === 'object' && of !== null && keyNames.every((name) => (of as Partial<RecordKey>)[name] === key[name])

const keyNames = ['operation', 'shape', 'client', 'site', 'query'] as const

// RFC 9110 §5.1, §5.5: other characters would end a field or the head.
const isFieldList = (fields: unknown): fields is HeaderFields =>
  Array.isArray(fields) &&
  fields.length % 2 === 0 &&
  fields.every((text, i) => (i % 2 === 0 ? isName(text) : isValue(text)))

const isName = (text: unknown): boolean => typeof text === 'string' && isHttpToken(text) && !isHopByHop(text)

const isValue = (text: unknown): boolean => typeof text === 'string' && isFieldValue(text)
