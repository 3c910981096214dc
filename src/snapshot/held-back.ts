import { Alarm, wallClock } from '../clock.ts'
import type { Problem } from '../config/problem.ts'

// Doubled each time: an endpoint that is just starting is found soon, and one that is gone is not asked for without end.
const firstMs = 1000
const longestMs = 30_000

/** Is an edit that was held back, because what it brings was not reached. */
export interface Held {
  /** What the file said, to tell a further edit by. */
  readonly hash: string
  readonly problems: readonly Problem[]
  /** How often it has been held back, the first time included. */
  readonly tries: number
  /** When it is tried again, in milliseconds since the epoch. */
  readonly nextTryAt: number
  /** Whether the same has been told before. */
  readonly known: boolean
}

/** Waits with an edit that was held back, and asks for it to be tried again: after 1, 2, 4, 8, 16, and then every 30 s. */
export class HeldBack {
  readonly #alarm: Alarm
  #held: Held | null = null
  #due = false
  #closed = false

  /** `again` is called when the next try is due. */
  constructor(again: () => void) {
    this.#alarm = new Alarm(() => {
      this.#due = true
      again()
    })
  }

  /** What waits; null: nothing. */
  get held(): Held | null {
    return this.#held
  }

  /** Tells whether the time of the next try has come, and nothing has ended the wait since. */
  get isDue(): boolean {
    return this.#due
  }

  /** Notes that an edit was held back, the same one again or another; null: nothing is waited for any more. */
  note(hash: string, problems: readonly Problem[]): Held | null {
    if (this.#closed) return null
    const before = this.#held?.hash === hash ? this.#held : null
    const tries = (before?.tries ?? 0) + 1
    const waitMs = Math.min(firstMs * 2 ** (tries - 1), longestMs)
    const known = JSON.stringify(before?.problems) === JSON.stringify(problems)
    this.#due = false
    this.#alarm.set(waitMs)
    this.#held = { hash, problems, tries, nextTryAt: wallClock() + waitMs, known }
    return this.#held
  }

  /** Ends the wait: something else has been put into effect, or is about to be. */
  end(): void {
    this.#alarm.clear()
    this.#due = false
    this.#held = null
  }

  /** Ends it for good, so that no timer is left. */
  close(): void {
    this.#closed = true
    this.end()
  }
}
