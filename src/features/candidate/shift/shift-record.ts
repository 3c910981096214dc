import type { Config } from '../../../core/config/config.ts'
import { type Group, groups } from '../../../operations.ts'
import type { CandidateConfig } from '../config/candidate.ts'

/**
 * What the file says of how much goes to a candidate. With another digest, what operators and the guard said is
 * forgotten. Without `startedAt` the first step begins when the gateway has the plan.
 */
export type ShiftPlan = Pick<CandidateConfig, 'digest' | 'share' | 'steps'>

export type ShiftPlans = Readonly<Partial<Record<Group, ShiftPlan>>>

/** Names a plan of a group among those that come and go with edits. */
export const shiftKey = (group: Group, digest: string): string => `${group} ${digest}`

export const listShiftPlans = ({ upstreams }: Pick<Config, 'upstreams'>): ShiftPlans =>
  Object.fromEntries(
    groups.flatMap((group) => {
      const { candidate } = upstreams[group]
      return candidate === null ? [] : [[group, candidate] as const]
    }),
  )

/** What decides how much goes to the candidate. `redis`: what was said before is kept there, and not known yet. */
export type ShiftCause = 'file' | 'steps' | 'operator' | 'guard' | 'redis'

export interface ShiftNote {
  /** The operator's session or address. Null: the gateway itself. */
  readonly by: string | null
  /** In words. Null: none were given. */
  readonly reason: string | null
  /** Milliseconds since the epoch. */
  readonly since: number
}

interface ShareOrder extends ShiftNote {
  readonly share: number
  readonly leftMs: number
}

/**
 * A share of 0 until an operator says otherwise: the guard's takeback, or an operator's abort; or until Redis has said
 * what holds.
 */
export interface ShiftStop extends ShiftNote {
  readonly cause: 'guard' | 'operator' | 'redis'
}

interface StepsPause extends ShiftNote {
  /** Null: until an operator resumes. */
  readonly leftMs: number | null
}

/**
 * What has become of the plan of a group. Its times are durations that are left, so no clock that jumps, and no second
 * gateway with another clock, makes one longer or shorter.
 */
export interface ShiftRecord {
  /** Goes before the stop: it was given after it. */
  readonly order: ShareOrder | null
  /** Goes before the steps and the share of the file. */
  readonly stop: ShiftStop | null
  readonly pause: StepsPause | null
  /** The index of the step that is reached. -1: the steps have not begun, or there are none. */
  readonly step: number
  /** The share below which the steps do not go: clients that an order has moved stay when it ends. */
  readonly floor: number
  /** Until the next step, or the first one. It rests while an order, a stop or a pause holds. */
  readonly stepLeftMs: number
  /** Since when the step or the share of the file holds, in milliseconds since the epoch. */
  readonly since: number
  /** How often a rollback has begun it anew: what was reached before the last one does not count. */
  readonly rollbacks: number
}

/** What came about by itself. */
export type ShiftEvent = 'step' | 'order ended' | 'pause ended'

/** Creates the record of a plan that begins now, or has begun when the file says. `epoch` is the wall clock's time. */
export const beginRecord = ({ steps }: ShiftPlan, epoch: number): ShiftRecord => {
  const record = { order: null, stop: null, pause: null, step: -1, floor: 0, stepLeftMs: 0, since: epoch, rollbacks: 0 }
  if (steps === null) return record
  const { every, startedAt, shares } = steps
  const elapsed = startedAt === null ? 0 : epoch - startedAt
  if (elapsed < 0) return { ...record, stepLeftMs: -elapsed }
  const step = Math.min(Math.floor(elapsed / every), shares.length - 1)
  return { ...record, step, stepLeftMs: every - (elapsed % every) }
}

/** Holds a record while Redis, where the one so far is kept, has not been read: nothing goes to the candidate. */
export const heldRecord = (record: ShiftRecord, epoch: number, reason: string): ShiftRecord =>
  withStop(record, { cause: 'redis', by: null, reason, since: epoch })

/** Tells whether a record stands for one in Redis that has not been read. */
export const isHeld = ({ stop }: ShiftRecord): boolean => stop?.cause === 'redis'

/** Returns the share that holds beneath orders and stops. */
export const plannedShare = ({ share, steps }: ShiftPlan, { step, floor }: ShiftRecord): number =>
  Math.max(share, steps?.shares[step] ?? 0, floor)

/** Stops the shift: the share is 0. It ends an order, which was given before. */
export const withStop = (record: ShiftRecord, stop: ShiftStop): ShiftRecord => ({ ...record, order: null, stop })

/** Ends what operators and the guard have said. After a stop, the steps begin anew. */
export const resumed = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftRecord => {
  if (record.stop === null) return { ...endOrder(record, plan, epoch), pause: null }
  return { ...beginAnew(plan, epoch), rollbacks: record.rollbacks }
}

/**
 * Returns the record of a candidate that a rollback brings back: its steps begin anew, without an order or a pause. A
 * stop holds on.
 */
export const rolledBack = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftRecord => ({
  ...beginAnew(plan, epoch),
  stop: isHeld(record) ? null : record.stop,
  rollbacks: record.rollbacks + 1,
})

/** Creates the record of a plan whose steps begin now, unless the file has them begin later. */
const beginAnew = (plan: ShiftPlan, epoch: number): ShiftRecord => {
  const startedAt = plan.steps?.startedAt ?? null
  const isAhead = startedAt !== null && startedAt > epoch
  return beginRecord({ ...plan, steps: plan.steps && { ...plan.steps, startedAt: isAhead ? startedAt : null } }, epoch)
}

/** Tells how long until something comes about by itself. Null: nothing does. */
export const untilNextMs = (record: ShiftRecord, plan: ShiftPlan): number | null => {
  const lefts = [record.order?.leftMs, record.pause?.leftMs, isStepping(record, plan) ? record.stepLeftMs : null]
  return lefts.reduce<number | null>((min, left) => (left == null ? min : Math.min(min ?? left, left)), null)
}

interface AdvancedRecord {
  readonly record: ShiftRecord
  readonly events: readonly ShiftEvent[]
}

/** Lets time go by. After `maxSteps` steps, time goes by for orders and pauses alone. */
export const advance = (
  record: ShiftRecord,
  plan: ShiftPlan,
  elapsedMs: number,
  epoch: number,
  maxSteps = Number.POSITIVE_INFINITY,
): AdvancedRecord => {
  const events: ShiftEvent[] = []
  let [current, left, steps, running] = [record, elapsedMs, 0, plan]
  for (let due = untilNextMs(current, running); due !== null && due <= left; due = untilNextMs(current, running)) {
    left -= due
    const [next, event] = settleDue(subtract(current, running, due), plan, epoch)
    events.push(event)
    current = next
    if (event === 'step' && ++steps >= maxSteps) running = { ...plan, steps: null }
  }
  return { record: subtract(current, running, left), events }
}

/** Tells whether the time of a step runs. The wait for the first one does not rest: the file says when it ends. */
export const isStepping = ({ order, stop, pause, step }: ShiftRecord, { steps }: ShiftPlan): boolean =>
  steps !== null && stop === null && step < steps.shares.length - 1 && (step < 0 || (order === null && pause === null))

const subtract = (record: ShiftRecord, plan: ShiftPlan, ms: number): ShiftRecord => ({
  ...record,
  order: record.order && { ...record.order, leftMs: record.order.leftMs - ms },
  pause: record.pause && { ...record.pause, leftMs: record.pause.leftMs === null ? null : record.pause.leftMs - ms },
  stepLeftMs: isStepping(record, plan) ? record.stepLeftMs - ms : record.stepLeftMs,
})

const settleDue = (record: ShiftRecord, plan: ShiftPlan, epoch: number): readonly [ShiftRecord, ShiftEvent] => {
  if (record.order !== null && record.order.leftMs <= 0) return [endOrder(record, plan, epoch), 'order ended']
  if (record.pause?.leftMs != null && record.pause.leftMs <= 0) return [{ ...record, pause: null }, 'pause ended']
  return [{ ...record, step: record.step + 1, stepLeftMs: plan.steps?.every ?? 0, since: epoch }, 'step']
}

/**
 * Ends an order. The steps go on from where its clients are: none goes back because the order has ended. Where a stop
 * holds beneath it, all do.
 */
const endOrder = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftRecord => {
  const { order, stop, step, stepLeftMs } = record
  const { steps } = plan
  if (order === null) return record
  const ended = { ...record, order: null }
  if (steps === null || stop !== null) return { ...ended, since: epoch }
  if (order.share <= plannedShare(plan, record))
    return { ...ended, since: epoch, stepLeftMs: step < 0 ? stepLeftMs : steps.every }
  const reached = steps.shares.findLastIndex((share) => share <= order.share)
  const isBegun = step >= 0 || reached >= 0
  return {
    ...ended,
    floor: order.share,
    step: Math.max(step, reached),
    stepLeftMs: isBegun ? steps.every : stepLeftMs,
    since: epoch,
  }
}

export type ShiftOrder =
  | { readonly kind: 'to'; readonly share: number; readonly ttlMs: number }
  /** The steps stay where they are. `ttlMs` null: until an operator resumes. */
  | { readonly kind: 'pause'; readonly ttlMs: number | null }
  /** The file's word holds. After a stop, its steps begin anew. */
  | { readonly kind: 'resume' }
  /** The share is 0 until an operator says otherwise. */
  | { readonly kind: 'abort' }

/** What is said of an order: by whom, and why. */
export type ShiftWords = Omit<ShiftNote, 'since'>

/** `epoch` is the wall clock's time. */
export const applyOrder = (
  record: ShiftRecord,
  plan: ShiftPlan,
  order: ShiftOrder,
  words: ShiftWords,
  epoch: number,
): ShiftRecord => {
  const note = { ...words, since: epoch }
  switch (order.kind) {
    case 'to':
      // What it replaces is another order; a stop holds again when it ends.
      return { ...record, order: { share: order.share, leftMs: order.ttlMs, ...note } }
    case 'pause':
      return { ...record, pause: { leftMs: order.ttlMs, ...note } }
    case 'resume':
      return resumed(record, plan, epoch)
    case 'abort':
      return withStop(record, { cause: 'operator', ...note })
  }
}
