import { wallClock } from '../clock.ts'
import type { Change } from '../config/diff.ts'
import type { Problem } from '../config/problem.ts'
import type { Held } from './held-back.ts'

/** Says what set a reload off; `preflight` is a further try of what was held back. */
export type Trigger = 'start' | 'file' | 'signal' | 'request' | 'rollback' | 'preflight'

/** Tells what came of a reload. */
export type Outcome =
  | {
      readonly result: 'applied' | 'unchanged'
      readonly from: string
      readonly to: string
      readonly changes: readonly Change[]
      readonly warnings: readonly Problem[]
      /** Whether what it brings was not to be tried before. */
      readonly forced: boolean
    }
  | {
      readonly result: 'refused'
      readonly hash: string
      readonly problems: readonly Problem[]
      /** When the file is sound but what it brings was not reached: what becomes of it. */
      readonly held: Held | null
    }

/** Is a reload as it is remembered. */
export interface Reloaded {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly trigger: Trigger
  readonly outcome: Outcome
}

/** Is how many reloads came to what since the process started. */
export interface ReloadCount {
  readonly trigger: Trigger
  readonly result: Outcome['result']
  readonly count: number
}

const kept = 20

/** Remembers what came of the last reloads, and counts them all. */
export class ReloadHistory {
  #last: readonly Reloaded[] = []
  readonly #counts = new Map<string, ReloadCount>()

  /** The newest first. */
  get last(): readonly Reloaded[] {
    return this.#last
  }

  get counts(): readonly ReloadCount[] {
    return [...this.#counts.values()]
  }

  add(trigger: Trigger, outcome: Outcome): void {
    const { result } = outcome
    const key = `${trigger} ${result}`
    this.#counts.set(key, { trigger, result, count: (this.#counts.get(key)?.count ?? 0) + 1 })
    // One that is held back is tried twice a minute, perhaps for days.
    if (outcome.result === 'refused' && outcome.held?.known) return
    this.#last = [{ at: wallClock(), trigger, outcome }, ...this.#last].slice(0, kept)
  }
}
