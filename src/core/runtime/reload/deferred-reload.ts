import type { ConfigProblem } from '../../config/problem.ts'
import { CoalescedTimer, epochMs } from '../../lib/clock.ts'

// Doubled each time: an endpoint that is just starting is found soon, and one that is gone is not tried without end.
const firstDelayMs = 1000
const maxDelayMs = 30_000

/** An edit that was held back, because a new endpoint or key was not reached, or a worker did not reply. */
export interface DeferredEdit {
  /** The hash of the file, to tell a further edit by. */
  readonly hash: string
  readonly problems: readonly ConfigProblem[]
  /** When it was held back first, in milliseconds since the epoch. */
  readonly since: number
  /** How often it has been held back, the first time included. */
  readonly tries: number
  /** When it is tried again, in milliseconds since the epoch. */
  readonly nextTryAt: number
  /** Whether the same problems have been reported before. */
  readonly known: boolean
}

/** The edit that was held back, and the timer of its next try: after 1, 2, 4, 8, 16, and then every 30 s. */
export class DeferredReload {
  readonly #timer: CoalescedTimer
  #edit: DeferredEdit | null = null
  #due = false
  #closed = false

  constructor(onDue: () => void) {
    this.#timer = new CoalescedTimer(() => {
      this.#due = true
      onDue()
    })
  }

  get edit(): DeferredEdit | null {
    return this.#edit
  }

  /** Whether the time of the next try has come, and nothing has ended the wait since. */
  get isDue(): boolean {
    return this.#due
  }

  /**
   * Records that an edit was held back, the same one again or another. Null: the gateway stops, so nothing waits any
   * more.
   */
  record(hash: string, problems: readonly ConfigProblem[]): DeferredEdit | null {
    if (this.#closed) return null
    const before = this.#edit?.hash === hash ? this.#edit : null
    const tries = (before?.tries ?? 0) + 1
    const waitMs = Math.min(firstDelayMs * 2 ** (tries - 1), maxDelayMs)
    const known = JSON.stringify(before?.problems) === JSON.stringify(problems)
    this.#due = false
    this.#timer.set(waitMs)
    const at = epochMs()
    this.#edit = { hash, problems, since: before?.since ?? at, tries, nextTryAt: at + waitMs, known }
    return this.#edit
  }

  /** Ends the wait: something else has been put into effect, or is about to be. */
  cancel(): void {
    this.#timer.clear()
    this.#due = false
    this.#edit = null
  }

  /** Ends it for good, so that no timer is left. */
  close(): void {
    this.#closed = true
    this.cancel()
  }
}
