import type { Config } from '../../../core/config/config.ts'
import { asNullable, asNumber, asObject, asText, type Decoded, type Decoder } from '../../../core/lib/text/decode.ts'
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
    groups.flatMap((group) => (upstreams[group].candidate ? [[group, upstreams[group].candidate] as const] : [])),
  )

/** Never the Redis of responses, which may evict. */
export const purposeOfShifts = (config: Config): RedisPurpose =>
  findRedis(config, 'records') === null ? 'counts' : 'records'

/** `redis`: the earlier record is in Redis and was not read yet. */
export type ShiftCause = 'file' | 'steps' | 'operator' | 'guard' | 'redis'

/** `by`: the operator's session or address; null: the gateway. `since`: milliseconds since the epoch. */
const noteMembers = { by: asNullable(asText), reason: asNullable(asText), since: asNumber }

/** Redis keeps only stops by an operator or the guard. */
const asStopCause: Decoder<'operator' | 'guard' | 'redis'> = (value, path) =>
  asText(value, path) === 'operator' ? 'operator' : 'guard'

/** Times are remaining durations: neither a clock jump nor another gateway's clock changes them. */
export const asShiftRecord = asObject({
  /** Takes precedence over `stop`, which is older. */
  override: asNullable(asObject({ share: asNumber, leftMs: asNumber, ...noteMembers })),
  /** A share of 0 until an operator ends it, or Redis was read. Takes precedence over steps and the file's share. */
  stop: asNullable(asObject({ cause: asStopCause, ...noteMembers })),
  /** `leftMs` null: until an operator resumes. */
  pause: asNullable(asObject({ leftMs: asNullable(asNumber), ...noteMembers })),
  /** -1: the steps have not begun, or there are none. */
  step: asNumber,
  /** Minimum share: clients that an override has moved stay when it ends. */
  floor: asNumber,
  /** Until the next step, or the first. Rests while an override, a stop or a pause holds. */
  stepLeftMs: asNumber,
  since: asNumber,
  /** Progress before the last rollback does not count. Missing: written by an earlier version of the gateway. */
  rollbacks: (value, path) => asNullable(asNumber)(value, path) ?? 0,
})

export type ShiftRecord = Decoded<typeof asShiftRecord>

export type ShiftStop = NonNullable<ShiftRecord['stop']>

export type ShiftNote = Pick<ShiftStop, keyof typeof noteMembers>

export type ShiftEvent = 'step' | 'override ended' | 'pause ended'

export const beginRecord = ({ steps }: ShiftPlan, epoch: number): ShiftRecord => {
  const record = {
    override: null,
    stop: null,
    pause: null,
    step: -1,
    floor: 0,
    stepLeftMs: 0,
    since: epoch,
    rollbacks: 0,
  }
  if (steps === null) return record
  const { every, startedAt, shares } = steps
  const elapsed = startedAt === null ? 0 : epoch - startedAt
  if (elapsed < 0) return { ...record, stepLeftMs: -elapsed }
  const step = Math.min(Math.floor(elapsed / every), shares.length - 1)
  return { ...record, step, stepLeftMs: every - (elapsed % every) }
}

/** A placeholder for a record in Redis that was not read. */
export const isHeld = ({ stop }: ShiftRecord): boolean => stop?.cause === 'redis'

export const plannedShare = ({ share, steps }: ShiftPlan, { step, floor }: ShiftRecord): number =>
  Math.max(share, steps?.shares[step] ?? 0, floor)

/** Also ends an override, which is older. */
export const withStop = (record: ShiftRecord, stop: ShiftStop): ShiftRecord => ({ ...record, override: null, stop })

/** Restarts the steps without override or pause; a stop remains. */
export const rolledBack = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftRecord => ({
  ...beginAgain(plan, epoch),
  stop: isHeld(record) ? null : record.stop,
  rollbacks: record.rollbacks + 1,
})

/** The steps begin now, or at a later `startedAt`. */
const beginAgain = (plan: ShiftPlan, epoch: number): ShiftRecord => {
  const startedAt = plan.steps?.startedAt ?? null
  const isAhead = startedAt !== null && startedAt > epoch
  return beginRecord({ ...plan, steps: plan.steps && { ...plan.steps, startedAt: isAhead ? startedAt : null } }, epoch)
}

export const untilNextMs = (record: ShiftRecord, plan: ShiftPlan): number | null => {
  const lefts = [record.override?.leftMs, record.pause?.leftMs, isStepping(record, plan) ? record.stepLeftMs : null]
  return lefts.reduce<number | null>((min, left) => (left == null ? min : Math.min(min ?? left, left)), null)
}

/** After `maxSteps` steps, only overrides and pauses advance. */
export const advance = (
  record: ShiftRecord,
  plan: ShiftPlan,
  elapsedMs: number,
  epoch: number,
  maxSteps = Number.POSITIVE_INFINITY,
): { readonly record: ShiftRecord; readonly events: readonly ShiftEvent[] } => {
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
export const isStepping = ({ override, stop, pause, step }: ShiftRecord, { steps }: ShiftPlan): boolean =>
  steps !== null &&
  stop === null &&
  step < steps.shares.length - 1 &&
  (step < 0 || (override === null && pause === null))

const subtract = (record: ShiftRecord, plan: ShiftPlan, ms: number): ShiftRecord => ({
  ...record,
  override: record.override && { ...record.override, leftMs: record.override.leftMs - ms },
  pause: record.pause && { ...record.pause, leftMs: record.pause.leftMs === null ? null : record.pause.leftMs - ms },
  stepLeftMs: isStepping(record, plan) ? record.stepLeftMs - ms : record.stepLeftMs,
})

const settleDue = (record: ShiftRecord, plan: ShiftPlan, epoch: number): readonly [ShiftRecord, ShiftEvent] => {
  if (record.override !== null && record.override.leftMs <= 0)
    return [endOverride(record, plan, epoch), 'override ended']
  if (record.pause?.leftMs != null && record.pause.leftMs <= 0) return [{ ...record, pause: null }, 'pause ended']
  return [{ ...record, step: record.step + 1, stepLeftMs: plan.steps?.every ?? 0, since: epoch }, 'step']
}

/** The steps continue from the override's share, so that no client moves back; under a stop, all do. */
const endOverride = (record: ShiftRecord, plan: ShiftPlan, epoch: number): ShiftRecord => {
  const { override, stop, step, stepLeftMs } = record
  const { steps } = plan
  if (override === null) return record
  const ended = { ...record, override: null }
  if (steps === null || stop !== null) return { ...ended, since: epoch }
  if (override.share <= plannedShare(plan, record))
    return { ...ended, since: epoch, stepLeftMs: step < 0 ? stepLeftMs : steps.every }
  const reached = steps.shares.findLastIndex((share) => share <= override.share)
  const isBegun = step >= 0 || reached >= 0
  const left = isBegun ? steps.every : stepLeftMs
  return { ...ended, floor: override.share, step: Math.max(step, reached), stepLeftMs: left, since: epoch }
}

export type ShiftCommand =
  | { readonly kind: 'to'; readonly share: number; readonly ttlMs: number }
  | { readonly kind: 'pause'; readonly ttlMs: number | null }
  | { readonly kind: 'resume' }
  | { readonly kind: 'abort' }

export type ShiftWords = Omit<ShiftNote, 'since'>

export const applyCommand = (
  record: ShiftRecord,
  plan: ShiftPlan,
  command: ShiftCommand,
  words: ShiftWords,
  epoch: number,
): ShiftRecord => {
  const note = { ...words, since: epoch }
  switch (command.kind) {
    case 'to':
      // Replaces an earlier override; a stop holds again when this override ends.
      return { ...record, override: { share: command.share, leftMs: command.ttlMs, ...note } }
    case 'pause':
      return { ...record, pause: { leftMs: command.ttlMs, ...note } }
    case 'resume':
      // The file decides again. After a stop, the steps restart.
      if (record.stop === null) return { ...endOverride(record, plan, epoch), pause: null }
      return { ...beginAgain(plan, epoch), rollbacks: record.rollbacks }
    case 'abort':
      return withStop(record, { cause: 'operator', ...note })
  }
}

export interface KeptShift {
  readonly record: ShiftRecord
  readonly ageMs: number
}

// Only one missed step is caught up: each step must hold for its time.
const maxStepsMadeUp = 1

/** While Redis was not read, nothing goes to the candidate. */
export const held = (own: ShiftRecord, epoch: number, reason: string): ShiftRecord =>
  own.stop === null ? withStop(own, { cause: 'redis', by: null, reason, since: epoch }) : own

const recordKeys = ['override', 'stop', 'pause', 'step', 'floor', 'stepLeftMs', 'since'] as const

/** A stop also ends overrides from other gateways. The end of a stop sets every key: no earlier progress counts. */
export const changedKeys = (before: ShiftRecord, after: ShiftRecord): readonly (keyof ShiftRecord)[] => {
  if (before.stop !== null && after.stop === null) return recordKeys
  const isStop = after.stop !== before.stop
  return recordKeys.filter((key) => before[key] !== after[key] || (isStop && key === 'override'))
}

export const stopKeys: readonly (keyof ShiftRecord)[] = ['stop', 'override']

export interface KnownStop {
  readonly knownStop: ShiftStop | null
  readonly at: number
}

/** Changes that Redis does not have. `knownStop`: the stop that the last of them knew. */
export interface OwnChanges extends KnownStop {
  readonly keys: Set<keyof ShiftRecord>
}

/** After a rollback, only a stop remains to be written: Redis may not have it. */
export const changesOfStop = (changes: OwnChanges | undefined): OwnChanges => ({
  ...{ knownStop: null, at: 0, ...changes },
  keys: new Set(stopKeys.filter((key) => changes?.keys.has(key))),
})

/**
 * Applies this gateway's changes to Redis's record. Of a record from before a rollback here, only the stop holds. A
 * stop that the changes did not know drops overrides and ends of stops: the operator might have decided otherwise.
 * Removes dropped keys from `keys`. `kept` null: Redis has no record.
 */
export const mergeKept = (
  kept: KeptShift | null,
  plan: ShiftPlan,
  epoch: number,
  own: ShiftRecord,
  { keys, ...last }: OwnChanges,
): ShiftRecord => {
  if (kept === null) return own
  const { record } = advance(kept.record, plan, kept.ageMs, epoch, maxStepsMadeUp)
  const isNews = record.stop !== null && !isKnownStop(record.stop, last)
  if (isNews)
    for (const key of recordKeys)
      if (!(key === 'pause' || (stopKeys.includes(key) && own.stop !== null))) keys.delete(key)
  const put = isNews ? { ...own, override: null } : own
  const base = own.rollbacks > record.rollbacks ? { ...own, override: null, pause: null, stop: record.stop } : record
  return { ...base, ...Object.fromEntries([...keys].map((key) => [key, put[key]])) }
}

/** While Redis was not read, any stop before the change counts as known. */
export const isKnownStop = (stop: ShiftStop, { knownStop, at }: KnownStop): boolean =>
  knownStop?.cause === 'redis'
    ? stop.since <= at
    : stop.since === knownStop?.since && stop.cause === knownStop.cause && stop.reason === knownStop.reason
