import type { AdminError } from '../../../core/admin/admin-error.ts'
import type { Config } from '../../../core/config/config.ts'
import { describeSide } from '../../../core/exchange/sides.ts'
import type { EndpointReport } from '../../../core/runtime/status/endpoint.ts'
import type { StatusReport } from '../../../core/runtime/status/report.ts'
import type { Group } from '../../../operations.ts'
import { clientConsequences, findCandidateClients } from '../candidate-clients.ts'
import type { ShiftOrder } from '../shift/shift-record.ts'
import type { ShiftState } from '../shift/shift-state.ts'
import { isResumable } from '../shift/shift-state.ts'
import type { Shifts } from '../shift/shifts.ts'

export interface PlannedShift {
  readonly group: Group
  readonly order: ShiftOrder
  readonly reason: string | null
  readonly before: ShiftState
  readonly after: ShiftState
}

interface ShiftWishes {
  readonly group: Group
  readonly to: number | null
  readonly for: number | null
  readonly pause: boolean
  readonly resume: boolean
  readonly abort: boolean
  readonly reason: string | null
  readonly force: boolean
}

export const defaultShiftMs = 3_600_000

interface RunningCandidates {
  readonly config: Pick<Config, 'upstreams'>
  readonly report: Pick<StatusReport, 'upstreams'>
}

/** Plans a command or rejects it. Changes nothing. */
export const planShift = (
  shifts: Pick<Shifts, 'get' | 'preview'>,
  running: RunningCandidates,
  wishes: ShiftWishes,
): PlannedShift | AdminError => {
  const { group, reason, force } = wishes
  const order = chooseOrder(wishes)
  const [before, after] = [shifts.get(group), shifts.preview(group, order)]
  if (before === null || after === null) return noCandidate(group)
  const planned = { group, order, reason, before, after }
  return rejectIdle(group, order, before) ?? (force ? null : rejectDown(planned, running)) ?? planned
}

const chooseOrder = ({ to, for: ttlMs, pause, resume }: ShiftWishes): ShiftOrder => {
  if (to !== null) return { kind: 'to', share: to, ttlMs: ttlMs ?? defaultShiftMs }
  if (pause) return { kind: 'pause', ttlMs }
  return { kind: resume ? 'resume' : 'abort' }
}

const noCandidate = (group: Group): AdminError => ({
  status: 409,
  code: 'no-candidate',
  detail: `${group} has no candidate: write upstreams.${group}.candidate in the file`,
})

const rejectIdle = (group: Group, { kind }: ShiftOrder, before: ShiftState): AdminError | null => {
  const { step } = before
  if (kind === 'pause' && step?.nextShare == null) {
    const why = step === null ? 'the file has no steps for it' : 'the last step is reached'
    return { status: 409, code: 'no-steps', detail: `there is nothing to pause for ${group}: ${why}` }
  }
  return kind === 'resume' && !isResumable({ ...before, stopped: before.isStopped })
    ? { status: 409, code: 'nothing-to-resume', detail: `the candidate of ${group} has what the file says already` }
    : null
}

const rejectDown = (
  { group, before, after }: PlannedShift,
  { config, report }: RunningCandidates,
): AdminError | null => {
  const clients = findCandidateClients(config.upstreams[group].candidate, after)
  const endpoints = report.upstreams[group].candidate?.endpoints ?? []
  if (clients === 'none' || !sendsMore(before, after) || endpoints.some(isUp)) return null
  const states = endpoints.map(({ url, state }) => `${url} is ${state.name}`).join(', ')
  const detail = `no endpoint of ${describeSide(group, 'candidate')} is up (${states})${clientConsequences[clients]}: send more there all the same with force (--force)`
  return { status: 409, code: 'candidate-down', detail }
}

/** Whether more clients reach the candidate, at once or by held steps that continue. */
const sendsMore = (before: ShiftState, after: ShiftState): boolean =>
  after.share > before.share ||
  (before.isStopped && !after.isStopped) || // the clients that the file names come back
  (before.step?.nextAt == null && after.step?.nextAt != null)

// An endpoint that fails but is not ejected may have had a hiccup.
const isUp = ({ state: { name } }: EndpointReport): boolean => name === 'up' || name === 'failing'
