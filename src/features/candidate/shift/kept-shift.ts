import { isDeepStrictEqual } from 'node:util'
import type { CoalescedTimer } from '../../../core/lib/clock.ts'
import type { Group } from '../../../operations.ts'
import type { ShiftPlan } from './shift-record.ts'
import { advance, beginRecord, heldRecord, type ShiftRecord, type ShiftStop } from './shift-record.ts'
import { type ShiftState, toShiftState } from './shift-state.ts'

/** A record that is kept elsewhere too, and how old it is. */
export interface KeptShift {
  readonly record: ShiftRecord
  readonly ageMs: number
}

/** What is kept elsewhere of a plan that begins. Null: nothing is. A text says why it is not known. */
export type FindKeptShift = (group: Group, plan: ShiftPlan) => KeptShift | string | null

export interface ShiftToKeep {
  readonly digest: string
  readonly record: ShiftRecord
  /** Another one with each change. */
  readonly revision: number
  /** Whether it stands for one that is kept elsewhere, and has not been read. */
  readonly isHeld: boolean
}

// So many steps are made up for that fell into a time without this gateway: each has to hold for its time.
const maxStepsMadeUp = 1

/** `own` is what it would be without what is kept elsewhere. */
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

/**
 * Returns the record with which a plan goes on: what is kept elsewhere, with what was changed here on top. What means
 * the same has held here since it began here, a little later or earlier than at the gateway that wrote it.
 */
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

/** Brings a record that is kept elsewhere up to now. */
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

/**
 * Lists what a change is about. A stop ends orders, also those that other gateways were given. The end of a stop is
 * about everything: what was reached before it does not count.
 */
export const changedKeys = (before: ShiftRecord, after: ShiftRecord): readonly (keyof ShiftRecord)[] => {
  if (before.stop !== null && after.stop === null) return recordKeys
  const isStop = after.stop !== before.stop
  return recordKeys.filter((key) => before[key] !== after[key] || (isStop && key === 'order'))
}

/** What a stop is about: it ends orders too. */
export const stopKeys: readonly (keyof ShiftRecord)[] = ['stop', 'order']

export interface KnownStop {
  readonly knownStop: ShiftStop | null
  /** The time of the change, in milliseconds since the epoch. */
  readonly at: number
}

/** What operators and the guard have changed of a record since it was kept elsewhere, and what the last one knew. */
export interface OwnChanges extends KnownStop {
  readonly keys: Set<keyof ShiftRecord>
}

/** What a candidate that a rollback has brought back is left with of what was changed before: Redis may not know it. */
export const changesOfStop = ({ keys, ...last }: OwnChanges = noChanges): OwnChanges => ({
  ...last,
  keys: new Set(stopKeys.filter((key) => keys.has(key))),
})

const noChanges: OwnChanges = { keys: new Set(), knownStop: null, at: 0 }

/**
 * Puts what was changed here on top of what is kept elsewhere; of a record from before a rollback here, only its stop
 * holds. On top of a stop there that the changes did not know goes no order, and no end of a stop: an operator who had
 * known it might have said something else. `changes` are left as they were put.
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

/** Tells whether a stop was known at a change. Where Redis was not read, what it had until then counts as known. */
export const isKnownStop = (stop: ShiftStop, { knownStop, at }: KnownStop): boolean =>
  knownStop?.cause === 'redis' ? stop.since <= at : isSameStop(stop, knownStop)

const isSameStop = (stop: ShiftStop, other: ShiftStop | null): boolean =>
  stop.since === other?.since && stop.cause === other.cause && stop.reason === other.reason

/** Tells whether two records mean the same for clients and in words. An order has one time at all gateways. */
export const hasSameEffect = (a: ShiftRecord, b: ShiftRecord, plan: ShiftPlan, epoch: number): boolean =>
  a.order?.since === b.order?.since &&
  isDeepStrictEqual(toEffect(toShiftState(a, plan, epoch)), toEffect(toShiftState(b, plan, epoch)))

/** Leaves out of a state what is a little later or earlier at another gateway. */
const toEffect = ({ share, cause, isStopped, by, reason, paused, step }: ShiftState) => ({
  ...{ share, cause, isStopped, by, reason },
  paused: paused && { by: paused.by, reason: paused.reason },
  reached: step?.reached,
})

/** A record as this gateway has it. */
export interface ShiftEntry {
  readonly plan: ShiftPlan
  readonly timer: CoalescedTimer
  /** Without the order that is pending. */
  record: ShiftRecord
  /** Null: no order waits to be in effect. */
  pending: PendingOrder | null
  /** When the record was true: monotonic, and by the wall clock. */
  at: number
  epoch: number
  /** Another one with each change, but not as time goes by. */
  revision: number
  changes: OwnChanges
}

/** An order that is being put into effect, as a change of whatever record holds then. */
interface PendingOrder extends KnownStop {
  change(record: ShiftRecord): ShiftRecord
}

export const effectiveRecord = ({ record, pending }: ShiftEntry): ShiftRecord => pending?.change(record) ?? record

export const toState = (entry: ShiftEntry): ShiftState => toShiftState(effectiveRecord(entry), entry.plan, entry.epoch)
