import type { ConfigChange } from '../../config/diff/diff-values.ts'
import type { LoadResult } from '../../config/load/load.ts'
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

export interface ReloadRejection {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** When what was rejected was tried first: an edit that is held back is tried again and again. */
  readonly since: number
  readonly trigger: ReloadTrigger
  readonly problems: readonly ConfigProblem[]
  /** Whether the file by itself can run. What was in the way may be a setting that needs a restart. */
  readonly isFileSound: boolean
  /** Whether workers did not reply in time. */
  readonly isUnanswered: boolean
}

/** The last reload or rollback that was rejected, until something takes effect. */
export class LastRejection {
  #current: ReloadRejection | null = null
  /** Its files, with what was in them. */
  #contents = ''

  /** Null: none since a configuration took effect. */
  get current(): ReloadRejection | null {
    return this.#current
  }

  /**
   * Records another one. The same files again are rejected since they were first. `sources` are the files that were
   * read last; `heldSince`: an edit is held back since then.
   */
  record(
    rejection: Omit<ReloadRejection, 'at' | 'since'>,
    sources: LoadResult['sources'],
    heldSince: number | null,
  ): void {
    const at = epochMs()
    const contents = sources.map(({ file, digest }) => `${file} ${digest}`).join('\n')
    const before = this.#current
    const isSame =
      before !== null && contents === this.#contents && ![before.trigger, rejection.trigger].includes('rollback')
    this.#contents = contents
    this.#current = { at, since: heldSince ?? (isSame ? before.since : at), ...rejection }
  }

  /** Notes that something took effect. Returns what is left: after a rollback, a rejected edit that never ran. */
  settle(trigger: ReloadTrigger): ReloadRejection | null {
    if (trigger !== 'rollback' || this.#current?.trigger === 'rollback') this.#current = null
    return this.#current
  }
}
