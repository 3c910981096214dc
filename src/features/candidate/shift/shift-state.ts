import { isDeepStrictEqual } from 'node:util'
import { asBoolean } from '../../../core/lib/text/decode.ts'
import { formatPercent } from '../../../core/lib/text/units.ts'
import type { EndpointReport } from '../../../core/runtime/status/endpoint.ts'
import * as field from '../../../core/runtime/status/field.ts'
import {
  isStepping,
  plannedShare,
  type ShiftCause,
  type ShiftNote,
  type ShiftPlan,
  type ShiftRecord,
  type ShiftStop,
} from './shift-record.ts'

/** `by`: the operator's name, else the address; null: no operator. */
const noteMembers = { by: field.optionalText, reason: field.optionalText, since: field.time }

const holdingMembers = { share: field.number, cause: field.word<ShiftCause>() }

export const shiftField = field.record({
  ...holdingMembers,
  /** No share, no named client, no copy. An override of share 0 leaves named clients and copies. */
  stopped: field.derived(asBoolean, ({ isStopped }: { readonly isStopped: boolean }) => isStopped),
  ...noteMembers,
  until: field.optionalTime,
  afterwards: field.nullable(field.record(holdingMembers)),
  /** Null: not paused, or no steps. `until` null: until an operator resumes. */
  paused: field.nullable(field.record({ ...noteMembers, until: field.optionalTime })),
  step: field.nullable(
    field.record({
      /** Counted from 1; 0: the first step has not begun. */
      reached: field.number,
      of: field.number,
      nextShare: field.optionalNumber,
      /** Null: the last step is reached, or an override, stop or pause holds it. */
      nextAt: field.optionalTime,
    }),
  ),
})

/** Plain data, sent to workers. */
export interface ShiftState extends field.Reported<typeof shiftField> {
  readonly digest: string
  readonly isStopped: boolean
}

export type ShiftStatus = field.Shown<typeof shiftField>

export const toShiftState = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftState => {
  const { override, stop, pause, step, stepLeftMs, since } = record
  const { digest, steps } = plan
  const fileCause = steps === null ? 'file' : 'steps'
  const beneath = stop
    ? { share: 0, cause: stop.cause }
    : ({ share: plannedShare(plan, record), cause: fileCause } as const)
  // After an override, the steps keep its clients.
  const afterwards =
    beneath.cause === 'steps' ? { ...beneath, share: Math.max(override?.share ?? 0, beneath.share) } : beneath
  return {
    digest,
    ...(override ? { share: override.share, cause: 'operator' } : beneath),
    ...toNote(override ?? stop ?? { by: null, reason: null, since }),
    until: override && epoch + override.leftMs,
    afterwards: override && afterwards,
    isStopped: override === null && stop !== null,
    paused: pause && steps && { ...toNote(pause), until: pause.leftMs === null ? null : epoch + pause.leftMs },
    step: steps && {
      reached: step + 1,
      of: steps.shares.length,
      nextShare: steps.shares[step + 1] ?? null,
      nextAt: isStepping(record, plan) ? epoch + stepLeftMs : null,
    },
  }
}

const toNote = ({ by, reason, since }: ShiftNote) => ({ by, reason, since })

/** For clients, and in messages. `since` of an override is the same at all gateways. */
export const hasSameEffect = (a: ShiftRecord, b: ShiftRecord, plan: ShiftPlan, epoch: number): boolean =>
  a.override?.since === b.override?.since &&
  isDeepStrictEqual(toEffect(toShiftState(a, plan, epoch)), toEffect(toShiftState(b, plan, epoch)))

/** Times differ between gateways by moments. */
const toEffect = ({ share, cause, isStopped, by, reason, paused, step }: ShiftState) => ({
  ...{ share, cause, isStopped, by, reason },
  paused: paused && { by: paused.by, reason: paused.reason },
  reached: step?.reached,
})

/** Counts from another era are no evidence. */
export const guardEra = (shift: Pick<ShiftState, 'digest' | 'share' | 'since'> | null | undefined): string =>
  shift == null ? '' : `${shift.digest} ${shift.share} ${shift.since}`

export const isWholeShift = ({ share, stopped }: Pick<ShiftStatus, 'share' | 'stopped'>): boolean =>
  share === 1 && !stopped

export const isCandidateUp = (endpoints: readonly { readonly state: EndpointReport['state']['name'] }[]): boolean =>
  endpoints.some(({ state }) => state === 'up')

export const isResumable = (
  stopped: boolean,
  { paused, until }: Readonly<Record<'paused' | 'until', unknown>>,
): boolean => stopped || paused !== null || until !== null

/** Input: RFC 3339. */
interface ShiftTimeFormat {
  since(time: string): string
  until(time: string): string
}

const asWritten: ShiftTimeFormat = { since: (time) => time, until: (time) => time }

export const describeShift = (shift: ShiftStatus, format = asWritten): string =>
  `${describeShare(shift, format)}${describePause(shift, format)}`

const describeShare = (shift: ShiftStatus, format: ShiftTimeFormat): string => {
  const { share, cause, stopped, by, reason, since, until, afterwards, paused, step } = shift
  if (stopped) {
    if (cause === 'redis')
      return `nothing since ${format.since(since)}: its record in Redis was not read${because(reason)}; until Redis replies, or an operator resumes it`
    const what = cause === 'guard' ? 'taken back' : `aborted by ${by}`
    return `nothing: ${what} at ${format.since(since)}${because(reason)}; until an operator resumes it, or the candidate's part of the file changes`
  }
  if (until !== null) {
    const next = afterwards === null ? '' : `; then ${describeAfterwards(afterwards, paused !== null)}`
    return `${clients(share)} by ${by} until ${format.until(until)}${because(reason)}${next}`
  }
  if (step === null) return `${clients(share)}, as the file says`
  return `${clients(share)}: ${describeStep(step, format)}`
}

const describeStep = (step: NonNullable<ShiftStatus['step']>, format: ShiftTimeFormat): string => {
  const { reached, of, nextShare, nextAt } = step
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

export const describeAfterwards = (
  { share, cause }: NonNullable<ShiftStatus['afterwards']>,
  isPaused: boolean,
): string => {
  if (cause === 'steps') return `${clients(share)}${isPaused ? '' : ', and the steps continue'}`
  return cause === 'file' ? `${clients(share)}, as the file says` : `nothing, ${stopWords[cause]}`
}

const stopWords: Readonly<Record<ShiftStop['cause'], string>> = {
  guard: 'because the guard has taken it back',
  operator: 'because an operator has aborted it',
  redis: 'until its record in Redis is read',
}

const clients = (share: number): string =>
  share === 0 ? 'no share of the clients' : `${formatPercent(share)} of the clients`

const because = (reason: string | null): string => (reason === null ? '' : ` (${reason})`)
