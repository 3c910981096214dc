import { isDeepStrictEqual } from 'node:util'
import type { CoalescedTimer } from '../../../core/lib/clock.ts'
import type { Group } from '../../../operations.ts'
import type { ShiftPlan } from './shift-record.ts'
import { advance, beginRecord, heldRecord, type ShiftRecord, type ShiftStop } from './shift-record.ts'
import { type ShiftState, toShiftState } from './shift-state.ts'

/** A record from Redis, and its age. */
export interface KeptShift {
  readonly record: ShiftRecord
  readonly ageMs: number
}

/** A text: why Redis's record is not known. */
export type FindKeptShift = (group: Group, plan: ShiftPlan) => KeptShift | string | null

export interface ShiftToKeep {
  readonly digest: string
  readonly record: ShiftRecord
  /** Changes with each change of the record. */
  readonly revision: number
  /** A placeholder for a record in Redis that was not read. */
  readonly isHeld: boolean
}

// Only one missed step is caught up: each step must hold for its time.
const maxStepsMadeUp = 1

/** `own`: the record without Redis. */
export const beginWithKept = (
  kept: KeptShift | string | null,
  plan: ShiftPlan,
  epoch: number,
  own: ShiftRecord,
  changes: OwnChanges,
): ShiftRecord => {
  if (kept === null) return own
  if (typeof kept === 'string') return own.stop === null ? heldRecord(own, epoch, kept) : own
  return mergeRecords(bringUp(kept, plan, epoch), own, changes)
}

/** Redis's record with this gateway's changes. With the same effect, `since` stays: gateways differ by moments. */
export const takeUpKept = (
  kept: KeptShift | null,
  plan: ShiftPlan,
  epoch: number,
  own: ShiftRecord,
  changes: OwnChanges,
): ShiftRecord => {
  const current = kept === null ? beginRecord(plan, epoch) : bringUp(kept, plan, epoch)
  const merged = mergeRecords(current, own, changes)
  return hasSameEffect(merged, own, plan, epoch) ? { ...merged, since: own.since } : merged
}

const bringUp = ({ record, ageMs }: KeptShift, plan: ShiftPlan, epoch: number): ShiftRecord =>
  advance(record, plan, ageMs, epoch, maxStepsMadeUp).record

const recordKeys = [
  'order',
  'stop',
  'pause',
  'step',
  'floor',
  'stepLeftMs',
  'since',
] as const satisfies readonly (keyof ShiftRecord)[]

/** A stop also ends orders from other gateways. The end of a stop sets every key: earlier progress does not count. */
export const changedKeys = (before: ShiftRecord, after: ShiftRecord): readonly (keyof ShiftRecord)[] => {
  if (before.stop !== null && after.stop === null) return recordKeys
  const isStop = after.stop !== before.stop
  return recordKeys.filter((key) => before[key] !== after[key] || (isStop && key === 'order'))
}

/** A stop also ends orders. */
export const stopKeys: readonly (keyof ShiftRecord)[] = ['stop', 'order']

export interface KnownStop {
  readonly knownStop: ShiftStop | null
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Changes since Redis last had the record, and the stop that the last one knew. */
export interface OwnChanges extends KnownStop {
  readonly keys: Set<keyof ShiftRecord>
}

/** After a rollback, only a stop remains to be written: Redis may not have it. */
export const changesOfStop = ({ keys, ...last }: OwnChanges = noChanges): OwnChanges => ({
  ...last,
  keys: new Set(stopKeys.filter((key) => keys.has(key))),
})

const noChanges: OwnChanges = { keys: new Set(), knownStop: null, at: 0 }

/**
 * Applies this gateway's changes to Redis's record; if that is from before a rollback here, only its stop holds. A stop
 * in Redis that the changes did not know drops orders and ends of stops: the operator might have decided otherwise.
 * `changes` keeps the applied keys.
 */
const mergeRecords = (kept: ShiftRecord, own: ShiftRecord, { keys, ...last }: OwnChanges): ShiftRecord => {
  const isNews = kept.stop !== null && !isKnownStop(kept.stop, last)
  if (isNews)
    for (const key of recordKeys)
      if (!(key === 'pause' || (stopKeys.includes(key) && own.stop !== null))) keys.delete(key)
  const put = isNews ? { ...own, order: null } : own
  const base = own.rollbacks > kept.rollbacks ? { ...own, order: null, pause: null, stop: kept.stop } : kept
  return { ...base, ...Object.fromEntries([...keys].map((key) => [key, put[key]])) }
}

/** While Redis was not read, any stop before the change counts as known. */
export const isKnownStop = (stop: ShiftStop, { knownStop, at }: KnownStop): boolean =>
  knownStop?.cause === 'redis' ? stop.since <= at : isSameStop(stop, knownStop)

const isSameStop = (stop: ShiftStop, other: ShiftStop | null): boolean =>
  stop.since === other?.since && stop.cause === other.cause && stop.reason === other.reason

/** For clients and in words. `since` of an order is the same at all gateways. */
export const hasSameEffect = (a: ShiftRecord, b: ShiftRecord, plan: ShiftPlan, epoch: number): boolean =>
  a.order?.since === b.order?.since &&
  isDeepStrictEqual(toEffect(toShiftState(a, plan, epoch)), toEffect(toShiftState(b, plan, epoch)))

/** Leaves out times, which differ between gateways by moments. */
const toEffect = ({ share, cause, isStopped, by, reason, paused, step }: ShiftState) => ({
  ...{ share, cause, isStopped, by, reason },
  paused: paused && { by: paused.by, reason: paused.reason },
  reached: step?.reached,
})

export interface ShiftEntry {
  readonly plan: ShiftPlan
  readonly timer: CoalescedTimer
  /** Without the pending order. */
  record: ShiftRecord
  /** Null: no order is pending. */
  pending: PendingOrder | null
  /** When `record` was current: monotonic and wall clock, in milliseconds. */
  at: number
  epoch: number
  /** Changes with each change, but not as time passes. */
  revision: number
  changes: OwnChanges
}

/** Not in effect yet; changes whichever record holds then. */
interface PendingOrder extends KnownStop {
  change(record: ShiftRecord): ShiftRecord
}

export const effectiveRecord = ({ record, pending }: ShiftEntry): ShiftRecord => pending?.change(record) ?? record

export const toState = (entry: ShiftEntry): ShiftState => toShiftState(effectiveRecord(entry), entry.plan, entry.epoch)
