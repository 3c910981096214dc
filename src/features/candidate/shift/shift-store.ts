import { randomUUID } from 'node:crypto'
import { asNullable, asNumber, asObject, asText, type Decoded } from '../../../core/lib/text/decode.ts'
import type { Group } from '../../../operations.ts'
import type { ManagedRedis } from '../../redis/managed-redis.ts'
import { createScript } from '../../redis/redis-server.ts'
import type { KeptShift } from './kept-shift.ts'
import type { ShiftRecord } from './shift-record.ts'

/**
 * Reads the record of a group, or replaces it. KEYS: the record. ARGV: the version that the caller knows (empty:
 * none), the version that it writes (empty: it only reads), how long that is kept in ms, and the record. Replies
 * `same` where Redis has the version that is known and nothing is written, `kept` where it has taken the new one,
 * `gone` where it has none any more, and else what it has: the version, its age in ms and the record. So no gateway
 * replaces what it has not seen. The clock is that of Redis.
 */
const shiftScript = createScript(`
local time = redis.call('TIME')
local now = math.floor(time[1] * 1000 + time[2] / 1000)
local version, at, record = string.match(redis.call('GET', KEYS[1]) or '', '^(%S+) (%d+) (.*)$')
if (version or '') ~= ARGV[1] then
  if not version then return 'gone' end
  return string.format('%s %.0f %s', version, math.max(0, now - at), record)
end
if ARGV[2] == '' then return 'same' end
redis.call('SET', KEYS[1], string.format('%s %.0f %s', ARGV[2], now, ARGV[4]), 'PX', ARGV[3])
return 'kept'
`)

/** A record of another version than the one that is known. */
export interface OtherShift {
  readonly version: string
  /** Null: it is not a record. */
  readonly kept: KeptShift | null
}

type ShiftReply =
  | { readonly kind: 'same' | 'gone' }
  | { readonly kind: 'kept'; readonly version: string }
  | ({ readonly kind: 'other' } & OtherShift)

// Longer than a holiday. A gateway that has the candidate writes again long before that.
const ttlMs = 14 * 24 * 3_600_000

// Requests do not wait for it.
const replyTimeoutMs = 1000

/**
 * Reads or replaces the record of a group, by one script. `record` null: it only reads. `latestVersion` is one that the
 * written one follows.
 * Resolves with null when there was no reply in time.
 */
export const callShiftStore = async (
  link: Pick<ManagedRedis, 'run'>,
  prefix: string,
  { group, digest }: { readonly group: Group; readonly digest: string },
  knownVersion: string,
  record: ShiftRecord | null,
  latestVersion = knownVersion,
): Promise<ShiftReply | null> => {
  const written =
    record === null ? '' : `${Math.max(countOf(knownVersion), countOf(latestVersion)) + 1}-${randomUUID()}`
  const args = [knownVersion, written, String(ttlMs), record === null ? '' : JSON.stringify(record)]
  const reply = await link.run(
    shiftScript,
    { keys: [`${prefix}:shift:${group}:${digest}`], args },
    { waitMs: replyTimeoutMs },
  )
  if (!(reply instanceof Buffer)) return null
  const text = reply.toString('utf8')
  if (text === 'same' || text === 'gone') return { kind: text }
  if (text === 'kept') return { kind: 'kept', version: written }
  const [, version = '', age, json = ''] = /^(\S+) (\d+) (.*)$/s.exec(text) ?? []
  const kept = parseRecord(json)
  return { kind: 'other', version, kept: kept && { record: kept, ageMs: Number(age) } }
}

/** Tells whether a version was written before another one. `orAtOnce`: or by a gateway that did not know that one. */
export const isOlder = (version: string, known: string, orAtOnce: boolean): boolean =>
  orAtOnce ? countOf(version) <= countOf(known) : countOf(version) < countOf(known)

/** Returns how many versions there were, this one included. */
const countOf = (version: string): number => Number(/^(\d{1,15})-/.exec(version)?.[1] ?? 0)

const noteMembers = { by: asNullable(asText), reason: asNullable(asText), since: asNumber }

const asRecord = asObject({
  order: asNullable(asObject({ share: asNumber, leftMs: asNumber, ...noteMembers })),
  stop: asNullable(asObject({ cause: asText, ...noteMembers })),
  pause: asNullable(asObject({ leftMs: asNullable(asNumber), ...noteMembers })),
  step: asNumber,
  floor: asNumber,
  stepLeftMs: asNumber,
  since: asNumber,
  // A record of an earlier version has none.
  rollbacks: asNullable(asNumber),
})

const parseRecord = (json: string): ShiftRecord | null => {
  try {
    const record = asRecord(JSON.parse(json), '')
    return isSound(record)
      ? {
          ...record,
          rollbacks: record.rollbacks ?? 0,
          stop: record.stop && { ...record.stop, cause: toCause(record.stop.cause) },
        }
      : null
  } catch {
    return null
  }
}

const toCause = (cause: string): 'operator' | 'guard' => (cause === 'operator' ? cause : 'guard')

const isShare = (share: number): boolean => share >= 0 && share <= 1

const isSound = ({ order, step, floor }: Decoded<typeof asRecord>): boolean =>
  (order === null || isShare(order.share)) && isShare(floor) && Number.isInteger(step) && step >= -1
