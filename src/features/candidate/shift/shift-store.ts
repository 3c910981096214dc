import { randomUUID } from 'node:crypto'
import type { Group } from '../../../operations.ts'
import type { ManagedRedis } from '../../redis/managed-redis.ts'
import { createScript } from '../../redis/redis-server.ts'
import { asShiftRecord, type KeptShift, type ShiftRecord } from './shift-record.ts'

/**
 * ARGV: the known version (empty: none), the version to write (empty: only read), the TTL in ms, and the record.
 * Replies `same`: Redis has the known version, nothing written; `kept`: written; `gone`: no record; else Redis's
 * version, its age in ms by Redis's clock, and the record. So no gateway replaces a record that it has not seen.
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

export interface OtherShift {
  readonly version: string
  readonly kept: KeptShift | null
}

type ShiftReply =
  | { readonly kind: 'same' | 'gone' }
  | { readonly kind: 'kept'; readonly version: string }
  | ({ readonly kind: 'other' } & OtherShift)

// Longer than a holiday. A gateway with the candidate rewrites hourly.
const ttlMs = 14 * 24 * 3_600_000

// Requests do not wait for this.
const replyTimeoutMs = 1000

/** A written version follows both given ones. Null: no reply in time. */
export const callShiftStore = async (
  link: Pick<ManagedRedis, 'run'>,
  prefix: string,
  { group, digest }: { readonly group: Group; readonly digest: string },
  knownVersion: string,
  record: ShiftRecord | null,
  latestVersion = knownVersion,
): Promise<ShiftReply | null> => {
  const count = Math.max(countOf(knownVersion), countOf(latestVersion)) + 1
  const [written, text] = record === null ? ['', ''] : [`${count}-${randomUUID()}`, JSON.stringify(toStored(record))]
  const args = [knownVersion, written, String(ttlMs), text]
  const keys = [`${prefix}:shift:${group}:${digest}`]
  const reply = await link.run(shiftScript, { keys, args }, { waitMs: replyTimeoutMs })
  if (!(reply instanceof Buffer)) return null
  const said = reply.toString('utf8')
  if (said === 'same' || said === 'gone') return { kind: said }
  if (said === 'kept') return { kind: 'kept', version: written }
  const [, version = '', age, json = ''] = /^(\S+) (\d+) (.*)$/s.exec(said) ?? []
  const kept = parseRecord(json)
  return { kind: 'other', version, kept: kept && { record: kept, ageMs: Number(age) } }
}

/** `orAtOnce`: also true for versions written concurrently. */
export const isOlder = (version: string, known: string, orAtOnce: boolean): boolean =>
  orAtOnce ? countOf(version) <= countOf(known) : countOf(version) < countOf(known)

const countOf = (version: string): number => Number(/^(\d{1,15})-/.exec(version)?.[1] ?? 0)

// Redis keeps the override as `order`: gateways of earlier versions read it under this name.
const toStored = ({ override, ...rest }: ShiftRecord) => ({ order: override, ...rest })

const parseRecord = (json: string): ShiftRecord | null => {
  try {
    const { order, ...rest } = JSON.parse(json)
    const record = asShiftRecord({ override: order, ...rest }, '')
    const { override, step, floor } = record
    const isSound = isShare(override?.share ?? 0) && isShare(floor) && Number.isInteger(step) && step >= -1
    return isSound ? record : null
  } catch {
    return null
  }
}

const isShare = (share: number): boolean => share >= 0 && share <= 1
