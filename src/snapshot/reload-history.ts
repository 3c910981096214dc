import { wallClock } from '../clock.ts'
import type { Outcome, Trigger } from './reloader.ts'

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
