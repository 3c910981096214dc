import type { CoalescedTimer } from '../../../core/lib/clock.ts'
import type { KnownStop, OwnChanges } from './kept-shift.ts'
import type { ShiftPlan } from './shift-plan.ts'
import type { ShiftRecord } from './shift-record.ts'
import { type ShiftState, toShiftState } from './shift-state.ts'

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

export const createEntry = (
  plan: ShiftPlan,
  record: ShiftRecord,
  timer: CoalescedTimer,
  at: number,
  epoch: number,
  changes: OwnChanges,
): ShiftEntry => ({ plan, timer, record, pending: null, at, epoch, revision: 0, changes })

export const effectiveRecord = ({ record, pending }: ShiftEntry): ShiftRecord => pending?.change(record) ?? record

export const toState = (entry: ShiftEntry): ShiftState => toShiftState(effectiveRecord(entry), entry.plan, entry.epoch)
