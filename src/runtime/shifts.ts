import { CoalescedTimer, epochMs, now } from '../clock.ts'
import { type Group, groups } from '../operations.ts'
import {
  changedKeys,
  type FindKeptShift,
  hasSameEffect,
  type KeptShift,
  mergeRecords,
  type OwnChanges,
  type ShiftToKeep,
  takeUpKept,
} from './shift/kept-shift.ts'
import { applyOrder, type ShiftOrder, type ShiftWords } from './shift/shift-order.ts'
import type { ShiftPlan, ShiftPlans } from './shift/shift-plan.ts'
import {
  advance,
  beginRecord,
  isHeld,
  type ShiftEvent,
  type ShiftRecord,
  untilNextMs,
  withStop,
} from './shift/shift-record.ts'
import { type ShiftState, toShiftState } from './shift/shift-state.ts'

/** How much of each group goes to its candidate, to be looked up and listed. */
export interface ShiftsView {
  /** Returns how it stands. Null: the group has no candidate. */
  get(group: Group): ShiftState | null
  readonly all: readonly (readonly [Group, ShiftState])[]
}

/** A change that can be undone, because it could not be put into effect. What has come since stays. */
export interface ShiftChange {
  readonly state: ShiftState
  undo(): void
}

/** Why the share of a group has changed without an operator of this gateway. `taken up`: Redis has another record. */
export type ShiftNews = ShiftEvent | 'taken back' | 'taken up'

/** The plans of another configuration, which can be put into effect. */
export interface PreparedShifts {
  /** How it will stand. */
  readonly view: ShiftsView
  /** The groups that stand otherwise than they would begin, by what is kept elsewhere. */
  readonly takenUp: readonly Group[]
  commit(): void
}

interface ShiftEntry {
  readonly plan: ShiftPlan
  readonly timer: CoalescedTimer
  record: ShiftRecord
  /** When the record was true: monotonic, and by the wall clock. */
  at: number
  epoch: number
  /** Another one with each change, but not as time goes by. */
  revision: number
  readonly changes: OwnChanges
}

// Node's timers end at 2^31 ms.
const maxTimerMs = 24 * 3_600_000

// So many groups there are, each with a few candidates on the way to one that holds.
const maxStopped = 100

/**
 * How much of each group goes to its candidate: what the file says, what its steps have come to, what operators and the
 * guard have said. It outlives a reload that leaves the candidate as it is.
 */
export class Shifts implements ShiftsView {
  /** Called when a record has changed, and may be kept elsewhere. */
  onChange: () => void = () => {}
  readonly #onNews: (group: Group, news: ShiftNews, state: ShiftState) => void
  readonly #entries = new Map<Group, ShiftEntry>()
  /** What was stopped and then replaced in the file, by group and digest: a rollback does not set it going again. */
  readonly #stopped = new Map<string, ShiftRecord>()

  /** `onNews` is called when something has come about that no operator said, and is to be put into effect. */
  constructor(onNews: (group: Group, news: ShiftNews, state: ShiftState) => void = () => {}) {
    this.#onNews = onNews
  }

  /** Returns how it stands. Null: the group has no candidate. */
  get(group: Group): ShiftState | null {
    const entry = this.#entries.get(group)
    return entry === undefined ? null : toState(entry)
  }

  /** How it stands with each group that has a candidate. */
  get all(): ShiftsView['all'] {
    return [...this.#entries].map(([group, entry]) => [group, toState(entry)])
  }

  /** Carries an operator's order out. Throws when the group has no candidate. */
  order(group: Group, order: ShiftOrder, words: ShiftWords): ShiftChange {
    return this.#change(group, (record, plan, epoch) => applyOrder(record, plan, order, words, epoch))
  }

  /** Returns how it would stand after an order. Null: the group has no candidate. */
  preview(group: Group, order: ShiftOrder): ShiftState | null {
    const entry = this.#entries.get(group)
    if (entry === undefined) return null
    const [{ plan }, epoch] = [entry, epochMs()]
    const { record } = advance(entry.record, plan, now() - entry.at, epoch)
    return toShiftState(applyOrder(record, plan, order, { by: null, reason: null }, epoch), plan, epoch)
  }

  /**
   * Sets the share to 0 until an operator says otherwise, or the candidate's part of the file changes. Tells whether
   * that is news: there is a candidate, and it was not stopped already.
   */
  takeBack(group: Group, reason: string): boolean {
    if (this.get(group)?.isStopped !== false) return false
    const stop = { cause: 'guard', by: null, reason } as const
    const { state } = this.#change(group, (record, _, since) => withStop(record, { ...stop, since }))
    this.#onNews(group, 'taken back', state)
    return true
  }

  /**
   * Prepares the plans of another configuration. A group whose candidate is another one, or gone, forgets all that was
   * said of it; after a rollback, a candidate that was stopped before is stopped again. What is kept elsewhere of the
   * other one goes on. Nothing changes until the commit.
   */
  prepare(plans: ShiftPlans, isRollback = false, findKept: FindKeptShift = () => null): PreparedShifts {
    const [at, epoch] = [now(), epochMs()]
    const takenUp: Group[] = []
    const begun = new Map(
      groups.flatMap((group) => {
        const plan = plans[group]
        if (plan === undefined || this.#entries.get(group)?.plan.digest === plan.digest) return []
        const stopped = isRollback ? this.#stopped.get(stoppedKey(group, plan)) : undefined
        const record = takeUpKept(findKept(group, plan), plan, epoch, stopped)
        if (!isHeld(record) && !hasSameEffect(record, stopped ?? beginRecord(plan, epoch), plan, epoch))
          takenUp.push(group)
        const timer = new CoalescedTimer(() => this.#onDue(group))
        return [
          [
            group,
            {
              plan,
              timer,
              record,
              at,
              epoch,
              revision: 0,
              changes: { keys: new Set(), knownStop: null, at: 0 },
            } satisfies ShiftEntry,
          ] as const,
        ]
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
          this.#stopped.delete(stoppedKey(group, entry.plan))
          this.#entries.set(group, entry)
          this.#arm(entry)
        }
      },
    }
  }

  /** Returns the record of a group, to be kept elsewhere. Null: the group has no candidate. */
  toKeep(group: Group): ShiftToKeep | null {
    const entry = this.#entries.get(group)
    if (entry === undefined) return null
    const { plan, revision } = entry
    const { record } = advance(entry.record, plan, now() - entry.at, epochMs())
    return { digest: plan.digest, record, revision, isHeld: isHeld(record) }
  }

  /** Notes that a record is kept elsewhere. */
  markKept(group: Group, { digest, revision }: ShiftToKeep): void {
    const entry = this.#entries.get(group)
    if (entry?.plan.digest === digest && entry.revision === revision) entry.changes.keys.clear()
  }

  /**
   * Goes on with a record that is kept elsewhere, in which another gateway has the last word. What operators and the
   * guard have said here since goes on top of it. Null: nothing is kept, so what was held until now begins.
   */
  takeUp(group: Group, digest: string, kept: KeptShift | null): void {
    const entry = this.#entries.get(group)
    if (entry === undefined || entry.plan.digest !== digest) return
    this.#settle(group, entry)
    const { plan, epoch, record, changes } = entry
    const current = takeUpKept(kept, plan, epoch)
    entry.record = mergeRecords(current, record, changes)
    // What is kept elsewhere does not know of it.
    if (changes.keys.size > 0 || current.step !== kept?.record.step) entry.revision++
    this.#arm(entry)
    if (!hasSameEffect(entry.record, record, plan, epoch)) this.#onNews(group, 'taken up', toState(entry))
  }

  /** Forgets everything, so that no timer is left. */
  clear(): void {
    this.prepare({}).commit()
  }

  #forget(group: Group, { plan, timer, record }: ShiftEntry): void {
    timer.clear()
    this.#entries.delete(group)
    if (record.stop === null) return
    const key = stoppedKey(group, plan)
    this.#stopped.delete(key)
    this.#stopped.set(key, { ...record, order: null, pause: null })
    for (const oldest of this.#stopped.keys()) if (this.#stopped.size > maxStopped) this.#stopped.delete(oldest)
  }

  #change(group: Group, change: (record: ShiftRecord, plan: ShiftPlan, epoch: number) => ShiftRecord): ShiftChange {
    const entry = this.#entries.get(group)
    if (entry === undefined) throw new Error(`${group} has no candidate`)
    this.#settle(group, entry)
    const before = entry.record
    const changed = change(before, entry.plan, entry.epoch)
    entry.record = changed
    this.#arm(entry)
    for (const key of changedKeys(before, changed)) entry.changes.keys.add(key)
    Object.assign(entry.changes, { knownStop: before.stop, at: entry.epoch })
    this.#noteChange(entry)
    const undo = (): void => {
      // What has come since knows of this change already.
      if (this.#entries.get(group) !== entry || entry.record !== changed) return
      entry.record = before
      this.#settle(group, entry)
      this.#arm(entry)
      this.#noteChange(entry)
    }
    return { state: toState(entry), undo }
  }

  #onDue(group: Group): void {
    const entry = this.#entries.get(group)
    if (entry === undefined) return
    const left = untilNextMs(entry.record, entry.plan)
    // Until something is due, the record stays the same object: an undo knows it by that.
    if (left !== null && left <= now() - entry.at) this.#settle(group, entry)
    this.#arm(entry)
  }

  /** Brings the record up to now, and tells what has come about. */
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

const toState = ({ record, plan, epoch }: ShiftEntry): ShiftState => toShiftState(record, plan, epoch)

const stoppedKey = (group: Group, { digest }: ShiftPlan): string => `${group} ${digest}`
