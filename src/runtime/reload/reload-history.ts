import { epochMs } from '../../clock.ts'
import type { ConfigChange } from '../../config/diff/diff-reports.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import type { DeferredEdit } from './deferred-reload.ts'

/** Says what set a reload off; `preflight` is a further try of what was held back. */
export type ReloadTrigger = 'start' | 'file' | 'signal' | 'request' | 'rollback' | 'preflight'

/** Tells what came of a reload. */
export type ReloadOutcome =
  | {
      readonly result: 'applied' | 'unchanged'
      readonly from: string
      readonly to: string
      readonly changes: readonly ConfigChange[]
      readonly warnings: readonly ConfigProblem[]
      /** Whether what it brings was not to be tried before. */
      readonly forced: boolean
    }
  | {
      readonly result: 'refused'
      readonly hash: string
      readonly problems: readonly ConfigProblem[]
      /** When the file is sound but what it brings was not reached: what becomes of it. */
      readonly held: DeferredEdit | null
    }

/** Is a reload as it is remembered. */
export interface ReloadEntry {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly trigger: ReloadTrigger
  readonly outcome: ReloadOutcome
}

/** Is how many reloads came to what since the process started. */
export interface ReloadCount {
  readonly trigger: ReloadTrigger
  readonly result: ReloadOutcome['result']
  readonly count: number
}

const maxEntries = 20

/** Remembers what came of the last reloads, and counts them all. */
export class ReloadHistory {
  #last: readonly ReloadEntry[] = []
  readonly #counts = new Map<string, ReloadCount>()

  /** The newest first. */
  get last(): readonly ReloadEntry[] {
    return this.#last
  }

  get counts(): readonly ReloadCount[] {
    return [...this.#counts.values()]
  }

  add(trigger: ReloadTrigger, outcome: ReloadOutcome): void {
    const { result } = outcome
    const key = `${trigger} ${result}`
    this.#counts.set(key, { trigger, result, count: (this.#counts.get(key)?.count ?? 0) + 1 })
    // One that is held back is tried twice a minute, perhaps for days.
    if (outcome.result === 'refused' && outcome.held?.known) return
    this.#last = [{ at: epochMs(), trigger, outcome }, ...this.#last].slice(0, maxEntries)
  }
}
