import { crc32 } from 'node:zlib'
import { type Fields, isHopByHop } from '../../../fields.ts'
import type { CacheRequest, CacheRules } from '../policy/request.ts'
import { type StoredHead, withLength } from '../policy/stored.ts'
import { storable } from '../policy/storing.ts'
import type { Name } from '../store.ts'

/** Says what a record has to be of. */
export interface Asked extends Name {
  readonly operation: string
  /** Of the configuration that decides what an answer is. */
  readonly shape: string
}

/** Is what is written of an answer. The rest of its head is computed again by whoever reads it, as his own configuration says. */
export interface Recorded {
  readonly status: number
  readonly reason: string
  readonly fields: Fields
  readonly selecting: string
  /** When it arrived and when it was written, by the writer's clock. */
  readonly receivedAt: number
  readonly writtenAt: number
  /** How old it was when it arrived, in milliseconds. */
  readonly initialAgeMs: number
}

/** Writes the head of an answer that is stored; `body` is summed up in it. */
export const encode = (asked: Asked, head: StoredHead, body: Buffer, writtenAt: number): Buffer => {
  const { operation, shape, client, site, query } = asked
  const { status, reason, fields, selecting, receivedAt, bornAt } = head
  const initialAgeMs = receivedAt - bornAt
  const of = { operation, shape, client, site, query }
  const text = JSON.stringify({ of, status, reason, fields, selecting, receivedAt, writtenAt, initialAgeMs })
  return Buffer.from(sumOf(text, body) + text)
}

/** Reads it; null: it is not what was asked for, or no record at all. Never throws, whatever it is given. */
export const decode = (asked: Asked, head: Buffer, body: Buffer): Recorded | null => {
  const text = head.toString()
  const json = text.slice(sumLength)
  if (sumOf(json, body) !== text.slice(0, sumLength)) return null
  const read = parsed(json)
  return isRecord(read) && isOf(read.of, asked) ? read : null
}

/**
 * Makes of a record the head that this request would have stored; null: it would not, or another one. `age`: for how long it was there. All times
 * become those of this gateway's clock, `now`: how far the writer's is off does not matter, and nothing is younger than it was when it was written.
 */
export const headOf = (
  { status, reason, fields, selecting, receivedAt, writtenAt, initialAgeMs }: Recorded,
  bodyBytes: number,
  { request, rules, now, ageMs }: { request: CacheRequest; rules: CacheRules; now: number; ageMs: number },
): StoredHead | null => {
  const times = { requestedAt: receivedAt - initialAgeMs, receivedAt }
  const { head } = storable(request, { status, reason, fields }, times, rules)
  if (head === null || head.selecting !== selecting) return null
  const complete = withLength(head, bodyBytes)
  if (complete === null) return null
  const later = now - Math.max(0, ageMs) - Math.max(receivedAt, writtenAt)
  return {
    ...complete,
    receivedAt: head.receivedAt + later,
    bornAt: head.bornAt + later,
    freshUntil: head.freshUntil + later,
    staleWhileRevalidateUntil: head.staleWhileRevalidateUntil + later,
    staleIfErrorUntil: head.staleIfErrorUntil + later,
    staleWhenDisconnectedUntil: head.staleWhenDisconnectedUntil + later,
  }
}

const sumLength = 8

/** Finds what was damaged on its way or where it was kept. It does not keep anybody from writing what he likes. */
const sumOf = (text: string, body: Buffer): string => crc32(text, crc32(body)).toString(16).padStart(sumLength, '0')

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const isRecord = (read: unknown): read is Recorded & { readonly of: unknown } => {
  if (typeof read !== 'object' || read === null) return false
  const { status, reason, fields, selecting, receivedAt, writtenAt, initialAgeMs } = read as Partial<Recorded>
  return (
    Number.isInteger(status) &&
    Number(status) >= 200 &&
    Number(status) <= 999 &&
    isValue(reason) &&
    areFields(fields) &&
    typeof selecting === 'string' &&
    [receivedAt, writtenAt, initialAgeMs].every(isTime)
  )
}

// Up to the last millisecond that a date can be written of.
const isTime = (ms: unknown): boolean => typeof ms === 'number' && ms >= 0 && ms <= 8.64e15

const isOf = (of: unknown, asked: Asked): boolean =>
  typeof of === 'object' && of !== null && names.every((name) => (of as Partial<Asked>)[name] === asked[name])

const names = ['operation', 'shape', 'client', 'site', 'query'] as const

// RFC 9110 §5.1, §5.5: what is neither would end a field, or the head.
const areFields = (fields: unknown): fields is Fields =>
  Array.isArray(fields) &&
  fields.length % 2 === 0 &&
  fields.every((text, i) => (i % 2 === 0 ? isName(text) : isValue(text)))

const isName = (text: unknown): boolean =>
  typeof text === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text) && !isHopByHop(text)

const isValue = (text: unknown): boolean => typeof text === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
