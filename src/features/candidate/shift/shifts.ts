import { LRUCache } from 'lru-cache'
import { CoalescedTimer, epochMs, now } from '../../../core/lib/clock.ts'
import { type Group, groups } from '../../../operations.ts'
import {
  advance,
  applyCommand,
  beginRecord,
  changedKeys,
  changesOfStop,
  held,
  isHeld,
  isKnownStop,
  type KeptShift,
  type KnownStop,
  mergeKept,
  type OwnChanges,
  rolledBack,
  type ShiftCommand,
  type ShiftEvent,
  type ShiftPlan,
  type ShiftPlans,
  type ShiftRecord,
  type ShiftWords,
  shiftKey,
  stopKeys,
  untilNextMs,
  withStop,
} from './shift-record.ts'
import { hasSameEffect, type ShiftState, toShiftState } from './shift-state.ts'

export interface ShiftsView {
  get(group: Group): ShiftState | null
  readonly all: readonly (readonly [Group, ShiftState])[]
}

/** Without an operator of this gateway. `taken up`: Redis has another record. */
export type ShiftNews = ShiftEvent | 'taken back' | 'taken up'

interface ShiftEntry {
  readonly plan: ShiftPlan
  readonly timer: CoalescedTimer
  /** Without the pending command. */
  record: ShiftRecord
  pending: PendingCommand | null
  /** Monotonic and wall clock, when `record` was current. */
  at: number
  epoch: number
  /** Changes with each change, but not as time passes. */
  revision: number
  changes: OwnChanges
}

/** Changes the record that holds when the command is confirmed. */
interface PendingCommand extends KnownStop {
  change(record: ShiftRecord): ShiftRecord
}

type FindKeptShift = (group: Group, plan: ShiftPlan) => KeptShift | string | null

export type ShiftToKeep = NonNullable<ReturnType<Shifts['toKeep']>>

// Node's timers end at 2^31 ms.
const maxTimerMs = 24 * 3_600_000

/** Each group's share, by the file, its steps, operators and the guard. Outlives reloads without a new candidate. */
export class Shifts implements ShiftsView {
  onChange: () => void = () => {}
  readonly #onNews: (group: Group, news: ShiftNews, state: ShiftState) => void
  readonly #entries = new Map<Group, ShiftEntry>()
  /** By group and digest: a rollback restarts these, and keeps their stop. */
  readonly #replaced = new LRUCache<string, ShiftEntry>({ max: 100 })

  /** `onNews`: a change without an operator, to be put into effect. */
  constructor(onNews: (group: Group, news: ShiftNews, state: ShiftState) => void = () => {}) {
    this.#onNews = onNews
  }

  get(group: Group): ShiftState | null {
    const entry = this.#entries.get(group)
    return entry === undefined ? null : toState(entry)
  }

  get all(): ShiftsView['all'] {
    return [...this.#entries].map(([group, entry]) => [group, toState(entry)])
  }

  /**
   * An abort holds at once, here and at other gateways; other commands are pending until confirmed. An undo leaves
   * later changes. Throws without a candidate.
   */
  command(group: Group, command: ShiftCommand, words: ShiftWords) {
    const entry = this.#settled(group)
    const { plan, epoch } = entry
    const change = (record: ShiftRecord): ShiftRecord => applyCommand(record, plan, command, words, epoch)
    if (command.kind === 'abort') return this.#change(group, entry, change)
    const pending = { change, knownStop: entry.record.stop, at: epoch }
    entry.pending = pending
    const isPending = (): boolean => this.#entries.get(group) === entry && entry.pending === pending
    return {
      confirm: () => {
        if (isPending()) this.#change(group, this.#settled(group), change)
        return toState(entry)
      },
      undo: () => {
        if (isPending()) entry.pending = null
      },
    }
  }

  preview(group: Group, command: ShiftCommand): ShiftState | null {
    const entry = this.#entries.get(group)
    if (entry === undefined) return null
    const [{ plan }, epoch] = [entry, epochMs()]
    const { record } = advance(effectiveRecord(entry), plan, now() - entry.at, epoch)
    return toShiftState(applyCommand(record, plan, command, { by: null, reason: null }, epoch), plan, epoch)
  }

  /** False: no candidate, or already stopped. */
  takeBack(group: Group, reason: string): boolean {
    if (this.get(group)?.isStopped !== false) return false
    const entry = this.#settled(group)
    const stop = { cause: 'guard', by: null, reason, since: entry.epoch } as const
    this.#change(group, entry, (record) => withStop(record, stop))
    this.#onNews(group, 'taken back', toState(entry))
    return true
  }

  /**
   * Nothing changes until the commit. A group with a new candidate, or none, forgets its record, and continues with the
   * one in Redis. After a rollback, the record restarts, once for all gateways, and keeps its stop.
   */
  prepare(plans: ShiftPlans, isRollback = false, findKept: FindKeptShift = () => null) {
    const [at, epoch] = [now(), epochMs()]
    const takenUp: Group[] = []
    const begun = new Map<Group, ShiftEntry>(
      groups.flatMap((group) => {
        const plan = plans[group]
        if (plan === undefined || this.#entries.get(group)?.plan.digest === plan.digest) return []
        const replaced = isRollback ? this.#replaced.get(shiftKey(group, plan.digest)) : undefined
        const own = replaced ? rolledBack(replaced.record, plan, epoch) : beginRecord(plan, epoch)
        const changes = changesOfStop(replaced?.changes)
        const kept = findKept(group, plan)
        const record = typeof kept === 'string' ? held(own, epoch, kept) : mergeKept(kept, plan, epoch, own, changes)
        if (!isHeld(record) && !hasSameEffect(record, own, plan, epoch)) takenUp.push(group)
        const timer = new CoalescedTimer(() => this.#onDue(group))
        return [[group, { plan, timer, record, pending: null, at, epoch, revision: 0, changes }] as const]
      }),
    )
    const states = groups.flatMap((group) => {
      const entry = plans[group] && (begun.get(group) ?? this.#entries.get(group))
      return entry === undefined ? [] : [[group, toState(entry)] as const]
    })
    const view: ShiftsView = { all: states, get: (group) => states.find(([each]) => each === group)?.[1] ?? null }
    return {
      view,
      takenUp,
      commit: () => {
        for (const [group, entry] of this.#entries) {
          if (entry.plan.digest === plans[group]?.digest) continue
          entry.timer.clear()
          this.#entries.delete(group)
          this.#replaced.set(shiftKey(group, entry.plan.digest), entry)
        }
        for (const [group, entry] of begun) {
          this.#replaced.delete(shiftKey(group, entry.plan.digest))
          this.#entries.set(group, entry)
          this.#arm(entry)
        }
      },
    }
  }

  toKeep(group: Group) {
    const entry = this.#entries.get(group)
    if (entry === undefined) return null
    const { plan, revision } = entry
    const { record } = advance(entry.record, plan, now() - entry.at, epochMs())
    return { digest: plan.digest, record, revision }
  }

  markKept(group: Group, { digest, revision }: ShiftToKeep): void {
    const entry = this.#entries.get(group)
    if (entry?.plan.digest === digest && entry.revision === revision) entry.changes.keys.clear()
  }

  /** Another Redis may have an older record without a stop: the stop must not end by that. */
  noteMoved(): void {
    for (const { record, changes } of this.#entries.values())
      if (record.stop !== null && !isHeld(record)) for (const key of stopKeys) changes.keys.add(key)
  }

  /** Takes another gateway's record. `kept` null: Redis has none, so the held plan begins. */
  takeUp(group: Group, digest: string, kept: KeptShift | null): void {
    const entry = this.#entries.get(group)
    if (entry === undefined || entry.plan.digest !== digest) return
    this.#settle(group, entry)
    const { plan, epoch, record, pending, changes } = entry
    const merged = mergeKept(kept ?? { record: beginRecord(plan, epoch), ageMs: 0 }, plan, epoch, record, changes)
    const isSame = hasSameEffect(merged, record, plan, epoch)
    // If the effect is the same, `since` is kept: the times of several gateways differ slightly.
    entry.record = isSame ? { ...merged, since: record.since } : merged
    const { stop, step, rollbacks } = merged
    // Redis does not have this change.
    if (changes.keys.size > 0 || step !== kept?.record.step || rollbacks !== kept.record.rollbacks) entry.revision++
    if (pending !== null && stop !== null && !isKnownStop(stop, pending)) entry.pending = null
    this.#arm(entry)
    if (entry.pending !== pending || !isSame) this.#onNews(group, 'taken up', toState(entry))
  }

  clear(): void {
    this.prepare({}).commit()
  }

  #settled(group: Group): ShiftEntry {
    const entry = this.#entries.get(group)
    if (entry === undefined) throw new Error(`${group} has no candidate`)
    this.#settle(group, entry)
    return entry
  }

  #change(group: Group, entry: ShiftEntry, change: (record: ShiftRecord) => ShiftRecord) {
    const before = entry.record
    const changed = change(before)
    Object.assign(entry, { record: changed, pending: null })
    const undo = (): void => {
      // Later changes build on this one.
      if (this.#entries.get(group) !== entry || entry.record !== changed) return
      entry.record = before
      this.#settle(group, entry)
      this.#noteReplaced(entry, changed)
    }
    this.#noteReplaced(entry, before)
    return { confirm: () => toState(entry), undo }
  }

  #noteReplaced(entry: ShiftEntry, before: ShiftRecord): void {
    this.#arm(entry)
    for (const key of changedKeys(before, entry.record)) entry.changes.keys.add(key)
    entry.changes = { ...entry.changes, knownStop: before.stop, at: entry.epoch }
    this.#noteChange(entry)
  }

  #onDue(group: Group): void {
    const entry = this.#entries.get(group)
    if (entry === undefined) return
    const left = untilNextMs(entry.record, entry.plan)
    // The record stays the same object until something is due: an undo recognizes it by that.
    if (left !== null && left <= now() - entry.at) this.#settle(group, entry)
    this.#arm(entry)
  }

  #settle(group: Group, entry: ShiftEntry): void {
    const [at, epoch] = [now(), epochMs()]
    const { record, events } = advance(entry.record, entry.plan, at - entry.at, epoch)
    Object.assign(entry, { record, at, epoch })
    if (events.length > 0) this.#noteChange(entry)
    for (const event of events) this.#onNews(group, event, toState(entry))
  }

  #noteChange(entry: ShiftEntry): void {
    entry.revision++
    this.onChange()
  }

  #arm(entry: ShiftEntry): void {
    const left = untilNextMs(entry.record, entry.plan)
    entry.timer.set(left === null ? null : Math.min(Math.max(1, Math.ceil(left - (now() - entry.at))), maxTimerMs))
  }
}

const effectiveRecord = ({ record, pending }: ShiftEntry): ShiftRecord => pending?.change(record) ?? record

const toState = (entry: ShiftEntry): ShiftState => toShiftState(effectiveRecord(entry), entry.plan, entry.epoch)
