import type { ShiftPlan } from './shift-plan.ts'
import { isStepping, plannedShare, type ShiftCause, type ShiftNote, type ShiftRecord } from './shift-record.ts'

/** How much of a group goes to its candidate now, and why. Plain data: workers get it as it is. */
export interface ShiftState extends ShiftNote {
  /** The digest of the candidate's part of the file that it is about. */
  readonly digest: string
  /** From 0 to 1. */
  readonly share: number
  readonly cause: ShiftCause
  /**
   * Whether the candidate gets nothing at all: no share, no client by name, no copy. An order of share 0 alone leaves
   * the clients that the file names, and copies.
   */
  readonly isStopped: boolean
  /** The end of an order, in milliseconds since the epoch. Null: it has none. */
  readonly until: number | null
  /** What holds after `until`. Null: it has no end. */
  readonly afterwards: { readonly share: number; readonly cause: ShiftCause } | null
  /** Null: the steps are not paused, or there are none. */
  readonly paused: ShiftPauseState | null
  readonly step: ShiftStepState | null
}

interface ShiftPauseState extends ShiftNote {
  /** Null: until an operator resumes. */
  readonly until: number | null
}

interface ShiftStepState {
  /** Counted from 1. 0: the first one has not begun. */
  readonly reached: number
  readonly of: number
  /** The share of the next one. Null: it is the last. */
  readonly nextShare: number | null
  /** When the next one begins, in milliseconds since the epoch. Null: it is the last, or something holds it. */
  readonly nextAt: number | null
}

export const toShiftState = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftState => {
  const { order, stop, pause } = record
  const beneath = stop === null ? planned(record, plan) : stopped(stop)
  const { digest, steps } = plan
  const state = {
    ...(order ? { share: order.share, cause: 'operator' as const } : beneath),
    ...toNote(order ?? stop ?? { by: null, reason: null, since: record.since }),
    until: order && epoch + order.leftMs,
    afterwards: order && beneathOrder(order.share, beneath),
  }
  return {
    digest,
    ...state,
    isStopped: order === null && stop !== null,
    paused: pause && steps && { ...toNote(pause), until: pause.leftMs === null ? null : epoch + pause.leftMs },
    step: steps && {
      reached: record.step + 1,
      of: steps.shares.length,
      nextShare: steps.shares[record.step + 1] ?? null,
      nextAt: isStepping(record, plan) ? epoch + record.stepLeftMs : null,
    },
  }
}

/**
 * Names how much goes to a candidate, and since when. What was counted while it was another share is no evidence for
 * this one.
 */
export const guardEra = (shift: Pick<ShiftState, 'digest' | 'share' | 'since'> | null | undefined): string =>
  shift == null ? '' : `${shift.digest} ${shift.share} ${shift.since}`

type Holding = Pick<ShiftState, 'share' | 'cause'>

const planned = (record: ShiftRecord, plan: ShiftPlan): Holding => ({
  share: plannedShare(plan, record),
  cause: plan.steps === null ? 'file' : 'steps',
})

const stopped = ({ cause }: NonNullable<ShiftRecord['stop']>): Holding => ({ share: 0, cause })

/** Returns what holds when an order has ended: the steps keep the clients that it has moved. */
const beneathOrder = (share: number, beneath: Holding): Holding =>
  beneath.cause === 'steps' ? { ...beneath, share: Math.max(share, beneath.share) } : beneath

const toNote = ({ by, reason, since }: ShiftNote) => ({ by, reason, since })
