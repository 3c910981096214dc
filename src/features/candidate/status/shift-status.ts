import {
  asBoolean,
  asNullable,
  asNumber,
  asObject,
  asText,
  asWord,
  type Decoded,
} from '../../../core/lib/text/decode.ts'
import { formatOptionalTime, formatTime } from '../../../core/lib/text/format-time.ts'
import { formatPercent } from '../../../core/lib/text/units.ts'
import type { EndpointReport } from '../../../core/runtime/status/endpoint.ts'
import type { ShiftCause } from '../shift/shift-record.ts'
import type { ShiftState } from '../shift/shift-state.ts'

const noteMembers = {
  /** The name of an operator, else the address; null: no operator did. */
  by: asNullable(asText),
  reason: asNullable(asText),
  since: asText,
}

/** Shares are from 0 to 1. */
const shiftMembers = {
  share: asNumber,
  cause: asWord<ShiftCause>(),
  /** Whether the candidate gets nothing at all. */
  stopped: asBoolean,
  ...noteMembers,
  /** The end of an operator's order; null: it has none. */
  until: asNullable(asText),
  /** What holds after `until`. */
  afterwards: asNullable(asObject({ share: asNumber, cause: asWord<ShiftCause>() })),
  /** Null: the steps are not paused, or there are none. */
  paused: asNullable(asObject({ ...noteMembers, until: asNullable(asText) })),
  /** Null: the file has no steps. */
  step: asNullable(
    asObject({
      /** Counted from 1; 0: the first has not begun. */
      reached: asNumber,
      of: asNumber,
      /** Null: it is the last. */
      nextShare: asNullable(asNumber),
      /** Null: it is the last, or something holds it. */
      nextAt: asNullable(asText),
    }),
  ),
}

export const shiftShape = asObject(shiftMembers)

export type ShiftStatus = Decoded<typeof shiftShape>

export const shiftStatus = (state: ShiftState): ShiftStatus => {
  const { share, cause, isStopped, until, afterwards, paused, step } = state
  return {
    share,
    cause,
    stopped: isStopped,
    ...noteStatus(state),
    until: formatOptionalTime(until),
    afterwards,
    paused: paused && { ...noteStatus(paused), until: formatOptionalTime(paused.until) },
    step: step && { ...step, nextAt: formatOptionalTime(step.nextAt) },
  }
}

const noteStatus = ({ by, reason, since }: Pick<ShiftState, 'by' | 'reason' | 'since'>) => ({
  by,
  reason,
  since: formatTime(since),
})

/** Tells whether every client is on the candidate. */
export const isWholeShift = ({ share, stopped }: Pick<ShiftStatus, 'share' | 'stopped'>): boolean =>
  share === 1 && !stopped

/** Tells whether an endpoint of a candidate is up, so that it can be made the upstream. */
export const isCandidateUp = (endpoints: readonly { readonly state: EndpointReport['state']['name'] }[]): boolean =>
  endpoints.some(({ state }) => state === 'up')

/** Tells whether there is something that operators or the guard have said, which a resume ends. */
export const isResumable = ({ stopped, paused, until }: Pick<ShiftStatus, 'stopped' | 'paused' | 'until'>): boolean =>
  stopped || paused !== null || until !== null

/** How a text about a shift formats times: RFC 3339 comes in. */
export interface ShiftTimeFormat {
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
