import { LRUCache } from 'lru-cache'
import { CoalescedTimer, epochMs, now } from '../../../core/lib/clock.ts'
import { type Group, groups } from '../../../operations.ts'
import {
  beginWithKept,
  changedKeys,
  changesOfStop,
  effectiveRecord,
  type FindKeptShift,
  hasSameEffect,
  isKnownStop,
  type KeptShift,
  type ShiftEntry,
  type ShiftToKeep,
  stopKeys,
  takeUpKept,
  toState,
} from './kept-shift.ts'
import {
  advance,
  applyOrder,
  beginRecord,
  isHeld,
  rolledBack,
  type ShiftEvent,
  type ShiftOrder,
  type ShiftPlans,
  type ShiftRecord,
  type ShiftWords,
  shiftKey,
  untilNextMs,
  withStop,
} from './shift-record.ts'
import { type ShiftState, toShiftState } from './shift-state.ts'

export interface ShiftsView {
  /** Null: the group has no candidate. */
  get(group: Group): ShiftState | null
  readonly all: readonly (readonly [Group, ShiftState])[]
}

/** Other gateways learn of a confirmed change, but of an abort at once. */
interface ShiftChange {
  /** Returns the state now. */
  confirm(): ShiftState
  /** Later changes stay. */
  undo(): void
}

/** Without an operator of this gateway. `taken up`: Redis has another record. */
export type ShiftNews = ShiftEvent | 'taken back' | 'taken up'

export interface PreparedShifts {
  readonly view: ShiftsView
  /** Groups whose kept record differs from a new plan's beginning. */
  readonly takenUp: readonly Group[]
  commit(): void
}

// Node's timers end at 2^31 ms.
const maxTimerMs = 24 * 3_600_000

// Far more than the groups with a few candidates each.
const maxReplaced = 100

/**
 * Each group's share, by the file, its steps, operators and the guard. Outlives reloads that leave the candidate
 * unchanged.
 */
export class Shifts implements ShiftsView {
  /** Called when a record has changed. */
  onChange: () => void = () => {}
  readonly #onNews: (group: Group, news: ShiftNews, state: ShiftState) => void
  readonly #entries = new Map<Group, ShiftEntry>()
  /** By group and digest: a rollback restarts these, and keeps their stop. */
  readonly #replaced = new LRUCache<string, ShiftEntry>({ max: maxReplaced })

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

  /** An abort holds at once; other orders are pending until confirmed. Throws without a candidate. */
  order(group: Group, order: ShiftOrder, words: ShiftWords): ShiftChange {
    const entry = this.#settled(group)
    const { plan, epoch } = entry
    const change = (record: ShiftRecord): ShiftRecord => applyOrder(record, plan, order, words, epoch)
    if (order.kind === 'abort') return this.#change(group, entry, change)
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

  /** Null: no candidate. */
  preview(group: Group, order: ShiftOrder): ShiftState | null {
    const entry = this.#entries.get(group)
    if (entry === undefined) return null
    const [{ plan }, epoch] = [entry, epochMs()]
    const { record } = advance(effectiveRecord(entry), plan, now() - entry.at, epoch)
    return toShiftState(applyOrder(record, plan, order, { by: null, reason: null }, epoch), plan, epoch)
  }

  /**
   * A share of 0 until an operator ends it, or the candidate's part of the file changes. False: no candidate, or
   * already stopped.
   */
  takeBack(group: Group, reason: string): boolean {
    if (this.get(group)?.isStopped !== false) return false
    const stop = { cause: 'guard', by: null, reason } as const
    const entry = this.#settled(group)
    this.#change(group, entry, (record) => withStop(record, { ...stop, since: entry.epoch }))
    this.#onNews(group, 'taken back', toState(entry))
    return true
  }

  /**
   * Nothing changes until the commit. A group with a new candidate, or none, forgets its record, and continues with the
   * one in Redis. After a rollback, the record restarts, once for all gateways, and keeps its stop.
   */
  prepare(plans: ShiftPlans, isRollback = false, findKept: FindKeptShift = () => null): PreparedShifts {
    const [at, epoch] = [now(), epochMs()]
    const takenUp: Group[] = []
    const begun = new Map<Group, ShiftEntry>(
      groups.flatMap((group) => {
        const plan = plans[group]
        if (plan === undefined || this.#entries.get(group)?.plan.digest === plan.digest) return []
        const replaced = isRollback ? this.#replaced.get(shiftKey(group, plan.digest)) : undefined
        const own = replaced ? rolledBack(replaced.record, plan, epoch) : beginRecord(plan, epoch)
        const changes = changesOfStop(replaced?.changes)
        const record = beginWithKept(findKept(group, plan), plan, epoch, own, changes)
        if (!isHeld(record) && !hasSameEffect(record, own, plan, epoch)) takenUp.push(group)
        const timer = new CoalescedTimer(() => this.#onDue(group))
        return [[group, { plan, timer, record, pending: null, at, epoch, revision: 0, changes }] as const]
      }),
    )
    const kept = (group: Group): ShiftState | null => (plans[group] === undefined ? null : this.get(group))
    const states = new Map(
      groups.flatMap((group) => {
        const entry = begun.get(group)
        const state = entry === undefined ? kept(group) : toState(entry)
        return state === null ? [] : [[group, state] as const]
      }),
    )
    return {
      view: { all: [...states], get: (group) => states.get(group) ?? null },
      takenUp,
      commit: () => {
        for (const [group, entry] of this.#entries) {
          if (entry.plan.digest !== plans[group]?.digest) this.#forget(group, entry)
        }
        for (const [group, entry] of begun) {
          this.#replaced.delete(shiftKey(group, entry.plan.digest))
          this.#entries.set(group, entry)
          this.#arm(entry)
        }
      },
    }
  }

  /** Without the pending order. Null: no candidate. */
  toKeep(group: Group): ShiftToKeep | null {
    const entry = this.#entries.get(group)
    if (entry === undefined) return null
    const { plan, revision } = entry
    const { record } = advance(entry.record, plan, now() - entry.at, epochMs())
    return { digest: plan.digest, record, revision, isHeld: isHeld(record) }
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

  /**
   * Another gateway's record, with this gateway's changes since. `kept` null: Redis has none, so the held plan begins.
   */
  takeUp(group: Group, digest: string, kept: KeptShift | null): void {
    const entry = this.#entries.get(group)
    if (entry === undefined || entry.plan.digest !== digest) return
    this.#settle(group, entry)
    const { plan, epoch, record, pending, changes } = entry
    entry.record = takeUpKept(kept, plan, epoch, record, changes)
    const { stop, step, rollbacks } = entry.record
    // Redis does not have this change.
    if (changes.keys.size > 0 || step !== kept?.record.step || rollbacks !== kept.record.rollbacks) entry.revision++
    if (pending !== null && stop !== null && !isKnownStop(stop, pending)) entry.pending = null
    this.#arm(entry)
    if (entry.pending !== pending || !hasSameEffect(entry.record, record, plan, epoch))
      this.#onNews(group, 'taken up', toState(entry))
  }

  /** Clears every timer. */
  clear(): void {
    this.prepare({}).commit()
  }

  #forget(group: Group, entry: ShiftEntry): void {
    entry.timer.clear()
    this.#entries.delete(group)
    this.#replaced.set(shiftKey(group, entry.plan.digest), entry)
  }

  /** Throws when the group has no candidate. */
  #settled(group: Group): ShiftEntry {
    const entry = this.#entries.get(group)
    if (entry === undefined) throw new Error(`${group} has no candidate`)
    this.#settle(group, entry)
    return entry
  }

  /** The record must be settled. Replaces a pending order. */
  #change(group: Group, entry: ShiftEntry, change: (record: ShiftRecord) => ShiftRecord): ShiftChange {
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
