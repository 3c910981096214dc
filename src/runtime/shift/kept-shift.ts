import { isDeepStrictEqual } from 'node:util'
import type { Group } from '../../operations.ts'
import type { ShiftPlan } from './shift-plan.ts'
import { advance, beginRecord, heldRecord, type ShiftRecord } from './shift-record.ts'
import { type ShiftState, toShiftState } from './shift-state.ts'

/** A record that is kept elsewhere too, and how old it is. */
export interface KeptShift {
  readonly record: ShiftRecord
  readonly ageMs: number
}

/** What is kept elsewhere of a plan that begins. Null: nothing is. A text says why it is not known. */
export type FindKeptShift = (group: Group, plan: ShiftPlan) => KeptShift | string | null

/** A record to be kept elsewhere. */
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

/** Returns the record with which a plan goes on. `stopped` is that of a stop that is known here. */
export const takeUpKept = (
  kept: KeptShift | string | null,
  plan: ShiftPlan,
  epoch: number,
  stopped?: ShiftRecord | undefined,
): ShiftRecord => {
  if (kept === null) return stopped ?? beginRecord(plan, epoch)
  if (typeof kept === 'string') return stopped ?? heldRecord(plan, epoch, kept)
  return advance(kept.record, plan, kept.ageMs, epoch, maxStepsMadeUp).record
}

const recordKeys = [
  'order',
  'stop',
  'pause',
  'step',
  'floor',
  'stepLeftMs',
  'since',
] as const satisfies readonly (keyof ShiftRecord)[]

/** Lists what a change is about. The end of a stop is about everything: what was reached before it does not count. */
export const changedKeys = (before: ShiftRecord, after: ShiftRecord): readonly (keyof ShiftRecord)[] =>
  before.stop !== null && after.stop === null ? recordKeys : recordKeys.filter((key) => before[key] !== after[key])

/** Picks some members of a record. */
export const pickOfRecord = (record: ShiftRecord, keys: ReadonlySet<keyof ShiftRecord>): Partial<ShiftRecord> =>
  Object.fromEntries(recordKeys.flatMap((key) => (keys.has(key) ? [[key, record[key]]] : [])))

/** Tells whether two records mean the same for clients and in words. */
export const hasSameEffect = (a: ShiftRecord, b: ShiftRecord, plan: ShiftPlan, epoch: number): boolean =>
  isDeepStrictEqual(toEffect(toShiftState(a, plan, epoch)), toEffect(toShiftState(b, plan, epoch)))

/** Leaves out of a state what is a little later or earlier at another gateway. */
const toEffect = ({ share, cause, isStopped, by, reason, paused, step }: ShiftState) => ({
  ...{ share, cause, isStopped, by, reason },
  paused: paused && { by: paused.by, reason: paused.reason },
  reached: step?.reached,
})
