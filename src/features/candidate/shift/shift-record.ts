import type { Config } from '../../../core/config/config.ts'
import { type Group, groups } from '../../../operations.ts'
import type { RedisPurpose } from '../../redis/config.ts'
import { findRedis } from '../../redis/redis-settings.ts'
import type { CandidateConfig } from '../config/candidate.ts'

/**
 * A new digest drops what operators and the guard have said. Without `startedAt`, the first step begins when the
 * gateway first has the plan.
 */
export type ShiftPlan = Pick<CandidateConfig, 'digest' | 'share' | 'steps'>

export type ShiftPlans = Readonly<Partial<Record<Group, ShiftPlan>>>

export const shiftKey = (group: Group, digest: string): string => `${group} ${digest}`

export const listShiftPlans = ({ upstreams }: Pick<Config, 'upstreams'>): ShiftPlans =>
  Object.fromEntries(
    groups.flatMap((group) => {
      const { candidate } = upstreams[group]
      return candidate === null ? [] : [[group, candidate] as const]
    }),
  )

/** `redis`: the earlier record is in Redis and was not read yet. */
export type ShiftCause = 'file' | 'steps' | 'operator' | 'guard' | 'redis'

export interface ShiftNote {
  /** The operator's session or address. Null: the gateway. */
  readonly by: string | null
  readonly reason: string | null
  /** Milliseconds since the epoch. */
  readonly since: number
}

interface ShareOrder extends ShiftNote {
  readonly share: number
  readonly leftMs: number
}

/** A share of 0 by the guard or an operator, until an operator ends it; or until Redis was read. */
export interface ShiftStop extends ShiftNote {
  readonly cause: 'guard' | 'operator' | 'redis'
}

interface StepsPause extends ShiftNote {
  /** Null: until an operator resumes. */
  readonly leftMs: number | null
}

/** Times are remaining durations: neither a clock jump nor another gateway's clock changes them. */
export interface ShiftRecord {
  /** Takes precedence over `stop`, which is older. */
  readonly order: ShareOrder | null
  /** Takes precedence over the steps and the file's share. */
  readonly stop: ShiftStop | null
  readonly pause: StepsPause | null
  /** -1: the steps have not begun, or there are none. */
  readonly step: number
  /** Minimum share: clients that an order has moved stay when it ends. */
  readonly floor: number
  /** Until the next step, or the first. Rests while an order, a stop or a pause holds. */
  readonly stepLeftMs: number
  /** Of the step or the file's share, in milliseconds since the epoch. */
  readonly since: number
  /** Progress before the last rollback does not count. */
  readonly rollbacks: number
}

/** Changes without an operator. */
export type ShiftEvent = 'step' | 'order ended' | 'pause ended'

/** A plan that begins now, or at `startedAt`. `epoch`: wall clock, in milliseconds. */
export const beginRecord = ({ steps }: ShiftPlan, epoch: number): ShiftRecord => {
  const record = { order: null, stop: null, pause: null, step: -1, floor: 0, stepLeftMs: 0, since: epoch, rollbacks: 0 }
  if (steps === null) return record
  const { every, startedAt, shares } = steps
  const elapsed = startedAt === null ? 0 : epoch - startedAt
  if (elapsed < 0) return { ...record, stepLeftMs: -elapsed }
  const step = Math.min(Math.floor(elapsed / every), shares.length - 1)
  return { ...record, step, stepLeftMs: every - (elapsed % every) }
}

/** While Redis was not read, nothing goes to the candidate. */
export const heldRecord = (record: ShiftRecord, epoch: number, reason: string): ShiftRecord =>
  withStop(record, { cause: 'redis', by: null, reason, since: epoch })

/** A placeholder for a record in Redis that was not read. */
export const isHeld = ({ stop }: ShiftRecord): boolean => stop?.cause === 'redis'

/** The share without orders and stops. */
export const plannedShare = ({ share, steps }: ShiftPlan, { step, floor }: ShiftRecord): number =>
  Math.max(share, steps?.shares[step] ?? 0, floor)

/** Also ends an order, which is older. */
export const withStop = (record: ShiftRecord, stop: ShiftStop): ShiftRecord => ({ ...record, order: null, stop })

/** After a stop, the steps restart. */
export const resumed = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftRecord => {
  if (record.stop === null) return { ...endOrder(record, plan, epoch), pause: null }
  return { ...beginAnew(plan, epoch), rollbacks: record.rollbacks }
}

/** Restarts the steps without order or pause; a stop remains. */
export const rolledBack = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftRecord => ({
  ...beginAnew(plan, epoch),
  stop: isHeld(record) ? null : record.stop,
  rollbacks: record.rollbacks + 1,
})

/** The steps begin now, or at a later `startedAt`. */
const beginAnew = (plan: ShiftPlan, epoch: number): ShiftRecord => {
  const startedAt = plan.steps?.startedAt ?? null
  const isAhead = startedAt !== null && startedAt > epoch
  return beginRecord({ ...plan, steps: plan.steps && { ...plan.steps, startedAt: isAhead ? startedAt : null } }, epoch)
}

/** Null: no change without an operator is due. */
export const untilNextMs = (record: ShiftRecord, plan: ShiftPlan): number | null => {
  const lefts = [record.order?.leftMs, record.pause?.leftMs, isStepping(record, plan) ? record.stepLeftMs : null]
  return lefts.reduce<number | null>((min, left) => (left == null ? min : Math.min(min ?? left, left)), null)
}

interface AdvancedRecord {
  readonly record: ShiftRecord
  readonly events: readonly ShiftEvent[]
}

/** After `maxSteps` steps, only orders and pauses advance. */
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

/** The wait for the first step does not rest: the file states when it ends. */
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

/** The steps continue from the order's share, so that no client moves back; under a stop, all do. */
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
  /** `ttlMs` null: until an operator resumes. */
  | { readonly kind: 'pause'; readonly ttlMs: number | null }
  /** The file decides again. After a stop, the steps restart. */
  | { readonly kind: 'resume' }
  /** The share is 0 until an operator ends it. */
  | { readonly kind: 'abort' }

export type ShiftWords = Omit<ShiftNote, 'since'>

/** `epoch`: wall clock, in milliseconds. */
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
      // Replaces an earlier order; a stop holds again when this order ends.
      return { ...record, order: { share: order.share, leftMs: order.ttlMs, ...note } }
    case 'pause':
      return { ...record, pause: { leftMs: order.ttlMs, ...note } }
    case 'resume':
      return resumed(record, plan, epoch)
    case 'abort':
      return withStop(record, { cause: 'operator', ...note })
  }
}

/** Never the Redis of responses, which may evict. */
export const purposeOfShifts = (config: Config): RedisPurpose =>
  findRedis(config, 'records') === null ? 'counts' : 'records'
