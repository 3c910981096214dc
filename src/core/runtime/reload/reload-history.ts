import type { ConfigChange } from '../../config/diff/diff-values.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { epochMs } from '../../lib/clock.ts'
import type { DeferredEdit } from './deferred-reload.ts'

/** What set a reload off. `preflight` is a further try of an edit that was held back. */
export type ReloadTrigger = 'start' | 'file' | 'signal' | 'request' | 'rollback' | 'preflight'

export type ReloadOutcome =
  | {
      readonly result: 'applied' | 'unchanged'
      readonly from: string
      readonly to: string
      readonly changes: readonly ConfigChange[]
      readonly warnings: readonly ConfigProblem[]
      /** Whether new endpoints and keys were not to be tried first, or a rollback was to switch off what is on. */
      readonly forced: boolean
      /** The keys of protections that were on, and are off now: `auth`, `audit`. */
      readonly switchedOff: readonly string[]
      /**
       * When the edit was refused that a rollback found in the file: it never ran, so an earlier one was undone. In
       * milliseconds since the epoch. Null: there is none.
       */
      readonly neverRan: number | null
    }
  | {
      readonly result: 'refused'
      readonly hash: string
      readonly problems: readonly ConfigProblem[]
      /** The next try, when the file is sound but a new endpoint, a key or a worker was not reached. Null: none. */
      readonly held: DeferredEdit | null
      /** The workers that did not reply in time, and what comes next. Null: there is another reason. */
      readonly unanswered: string | null
    }

/** A rollback that changes nothing, because it would switch protections off and was not forced. */
export interface UnforcedRollback {
  readonly result: 'unforced'
  readonly switchesOff: readonly string[]
}

export interface ReloadEntry {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly trigger: ReloadTrigger
  /** The operators who asked for it, by name or else by address. Null: no operator did. */
  readonly by: string | null
  readonly outcome: ReloadOutcome
}

export interface ReloadCount {
  readonly trigger: ReloadTrigger
  readonly result: ReloadOutcome['result']
  readonly count: number
}

const maxEntries = 20

export class ReloadHistory {
  #last: readonly ReloadEntry[] = []
  readonly #counts = new Map<string, ReloadCount>()
  #requestedBy: string | null = null

  /** The newest first. */
  get last(): readonly ReloadEntry[] {
    return this.#last
  }

  get requestedBy(): string | null {
    return this.#requestedBy
  }

  get counts(): readonly ReloadCount[] {
    return [...this.#counts.values()]
  }

  /** Begins what these operators have asked for; null: none has. */
  begin(by: string | null): void {
    this.#requestedBy = by
  }

  toCause(loadedBy: ReloadTrigger) {
    return { loadedAt: epochMs(), loadedBy, orderedBy: this.#requestedBy }
  }

  add(trigger: ReloadTrigger, outcome: ReloadOutcome): void {
    const { result } = outcome
    const key = `${trigger} ${result}`
    this.#counts.set(key, { trigger, result, count: (this.#counts.get(key)?.count ?? 0) + 1 })
    // An edit that is held back is tried twice a minute, perhaps for days.
    if (outcome.result === 'refused' && outcome.held?.known) return
    this.#last = [{ at: epochMs(), trigger, by: this.#requestedBy, outcome }, ...this.#last].slice(0, maxEntries)
  }
}
