import { asBoolean } from '../../../core/lib/text/decode.ts'
import { formatPercent } from '../../../core/lib/text/units.ts'
import type { EndpointReport } from '../../../core/runtime/status/endpoint.ts'
import type { Reported, Shown } from '../../../core/runtime/status/field.ts'
import * as field from '../../../core/runtime/status/field.ts'
import {
  isStepping,
  plannedShare,
  type ShiftCause,
  type ShiftNote,
  type ShiftPlan,
  type ShiftRecord,
} from './shift-record.ts'

const noteMembers = {
  /** The name of an operator, else the address; null: no operator did. */
  by: field.optionalText,
  reason: field.optionalText,
  since: field.time,
}

const holdingMembers = {
  /** From 0 to 1. */
  share: field.number,
  cause: field.word<ShiftCause>(),
}

/** How much of a group goes to its candidate now, and why. */
export const shiftField = field.record({
  ...holdingMembers,
  /**
   * Whether the candidate gets nothing at all: no share, no client by name, no copy. An order of share 0 alone leaves
   * the clients that the file names, and copies.
   */
  stopped: field.derived(asBoolean, ({ isStopped }: { readonly isStopped: boolean }) => isStopped),
  ...noteMembers,
  /** The end of an operator's order; null: it has none. */
  until: field.optionalTime,
  /** What holds after `until`. */
  afterwards: field.nullable(field.record(holdingMembers)),
  /** Null: the steps are not paused, or there are none. Its `until` null: until an operator resumes. */
  paused: field.nullable(field.record({ ...noteMembers, until: field.optionalTime })),
  /** Null: the file has no steps. */
  step: field.nullable(
    field.record({
      /** Counted from 1; 0: the first has not begun. */
      reached: field.number,
      of: field.number,
      /** Null: it is the last. */
      nextShare: field.optionalNumber,
      /** Null: it is the last, or something holds it. */
      nextAt: field.optionalTime,
    }),
  ),
})

/** How it stands. Plain data: workers get it as it is. */
export interface ShiftState extends Reported<typeof shiftField> {
  /** The digest of the candidate's part of the file that it is about. */
  readonly digest: string
  readonly isStopped: boolean
}

export type ShiftStatus = Shown<typeof shiftField>

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

/** Tells whether every client is on the candidate. */
export const isWholeShift = ({ share, stopped }: Pick<ShiftStatus, 'share' | 'stopped'>): boolean =>
  share === 1 && !stopped

/** Tells whether an endpoint of a candidate is up, so that it can be made the upstream. */
export const isCandidateUp = (endpoints: readonly { readonly state: EndpointReport['state']['name'] }[]): boolean =>
  endpoints.some(({ state }) => state === 'up')

/** Tells whether there is something that operators or the guard have said, which a resume ends. */
export const isResumable = ({ stopped, paused, until }: ResumableShift): boolean =>
  stopped || paused !== null || until !== null

interface ResumableShift extends Pick<ShiftStatus, 'stopped'> {
  readonly paused: object | null
  readonly until: string | number | null
}

/** How a text about a shift formats times: RFC 3339 comes in. */
interface ShiftTimeFormat {
  since(time: string): string
  until(time: string): string
}

const asWritten: ShiftTimeFormat = { since: (time) => time, until: (time) => time }

/** Describes how much of a group goes to its candidate, why, and what comes next: `5% of the clients, as …`. */
export const describeShift = (shift: ShiftStatus, format = asWritten): string =>
  `${describeShare(shift, format)}${describePause(shift, format)}`

const describeShare = (shift: ShiftStatus, format: ShiftTimeFormat): string => {
  const { share, cause, stopped, by, reason, since, until, afterwards, paused, step } = shift
  if (stopped) {
    if (cause === 'redis')
      return `nothing since ${format.since(since)}, until Redis says what was said of it before${because(reason)}, or an operator says otherwise`
    const what = cause === 'guard' ? 'taken back' : `aborted by ${by}`
    return `nothing: ${what} at ${format.since(since)}${because(reason)}; until an operator says otherwise, or the candidate's part of the file changes`
  }
  if (until !== null) {
    const next = afterwards === null ? '' : `; then ${describeAfterwards(afterwards, paused !== null)}`
    return `${clients(share)} by ${by} until ${format.until(until)}${because(reason)}${next}`
  }
  if (step === null) return `${clients(share)}, as the file says`
  return `${clients(share)}: ${describeStep(step, format)}`
}

const describeStep = (
  { reached, of, nextShare, nextAt }: NonNullable<ShiftStatus['step']>,
  format: ShiftTimeFormat,
): string => {
  const at = reached === 0 ? 'the steps have not begun' : `step ${reached} of ${of}`
  if (nextShare === null) return `${at}, the last`
  return `${at}, ${formatPercent(nextShare)} ${nextAt === null ? 'is next' : `at ${format.until(nextAt)}`}`
}

const describePause = ({ paused, step }: ShiftStatus, format: ShiftTimeFormat): string => {
  if (paused === null || step?.nextShare == null) return ''
  const { by, reason, since, until } = paused
  const end = until === null ? 'until an operator resumes' : `until ${format.until(until)}`
  return `; the steps are paused by ${by} since ${format.since(since)}, ${end}${because(reason)}`
}

/** `isPaused`: the steps do not go on then. */
export const describeAfterwards = (
  { share, cause }: NonNullable<ShiftStatus['afterwards']>,
  isPaused: boolean,
): string => {
  switch (cause) {
    case 'guard':
      return 'nothing, because it was taken back'
    case 'operator':
      return 'nothing, because an operator has aborted it'
    case 'redis':
      return 'nothing, until Redis says what was said of it before'
    case 'steps':
      return `${clients(share)}${isPaused ? '' : ', and the steps go on'}`
    case 'file':
      return `${clients(share)}, as the file says`
  }
}

const clients = (share: number): string =>
  share === 0 ? 'no share of the clients' : `${formatPercent(share)} of the clients`

const because = (reason: string | null): string => (reason === null ? '' : ` (${reason})`)
