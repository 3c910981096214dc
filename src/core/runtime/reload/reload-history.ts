import type { ConfigChange } from '../../config/diff/diff-values.ts'
import type { LoadResult } from '../../config/load/load.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { epochMs } from '../../lib/clock.ts'
import type { DeferredEdit } from './deferred-reload.ts'

/** `preflight`: a retry of an edit that was held back. */
export type ReloadTrigger = 'start' | 'file' | 'signal' | 'request' | 'rollback' | 'preflight'

export type ReloadOutcome =
  | {
      readonly result: 'applied' | 'unchanged'
      readonly from: string
      readonly to: string
      readonly changes: readonly ConfigChange[]
      readonly warnings: readonly ConfigProblem[]
      /** The preflight was skipped, or a rollback was allowed to turn protections off. */
      readonly forced: boolean
      readonly switchedOff: readonly string[]
      /**
       * For a rollback that found a rejected edit in the file: the time of the rejection, in ms since the epoch. Null:
       * none.
       */
      readonly neverRan: number | null
    }
  | {
      readonly result: 'rejected'
      readonly hash: string
      readonly problems: readonly ConfigProblem[]
      readonly held: DeferredEdit | null
      /** The message that names the workers which did not reply. Null: all did. */
      readonly silentWorkers: string | null
    }

export interface UnforcedRollback {
  readonly result: 'unforced'
  readonly switchesOff: readonly string[]
}

export interface ReloadEntry {
  readonly at: number
  readonly trigger: ReloadTrigger
  /** Null: no operator asked. */
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
  last: readonly ReloadEntry[] = []
  requestedBy: string | null = null
  readonly #counts = new Map<string, ReloadCount>()

  get counts(): readonly ReloadCount[] {
    return [...this.#counts.values()]
  }

  begin(by: string | null): void {
    this.requestedBy = by
  }

  toCause(loadedBy: ReloadTrigger) {
    return { loadedAt: epochMs(), loadedBy, requestedBy: this.requestedBy }
  }

  add(trigger: ReloadTrigger, outcome: ReloadOutcome): void {
    const { result } = outcome
    const key = `${trigger} ${result}`
    this.#counts.set(key, { trigger, result, count: (this.#counts.get(key)?.count ?? 0) + 1 })
    // A held-back edit is retried twice a minute, perhaps for days.
    if (outcome.result === 'rejected' && outcome.held?.known) return
    this.last = [{ at: epochMs(), trigger, by: this.requestedBy, outcome }, ...this.last].slice(0, maxEntries)
  }
}

export interface ReloadRejection {
  readonly at: number
  /** The first attempt: a held-back edit is retried many times. */
  readonly since: number
  readonly trigger: ReloadTrigger
  readonly problems: readonly ConfigProblem[]
  /** The file itself can run: a changed setting may only need a restart. */
  readonly isFileSound: boolean
  readonly areWorkersSilent: boolean
}

export class LastRejection {
  current: ReloadRejection | null = null
  #contents = ''

  /** A repeated rejection of the same files keeps the first time. */
  record(
    rejection: Omit<ReloadRejection, 'at' | 'since'>,
    sources: LoadResult['sources'],
    heldSince: number | null,
  ): void {
    const at = epochMs()
    const contents = sources.map(({ file, digest }) => `${file} ${digest}`).join('\n')
    const before = this.current
    const isSame =
      before !== null && contents === this.#contents && ![before.trigger, rejection.trigger].includes('rollback')
    this.#contents = contents
    this.current = { at, since: heldSince ?? (isSame ? before.since : at), ...rejection }
  }

  /** After a rollback, keeps and returns a rejected edit that never ran. */
  settle(trigger: ReloadTrigger): ReloadRejection | null {
    if (trigger !== 'rollback' || this.current?.trigger === 'rollback') this.current = null
    return this.current
  }
}
