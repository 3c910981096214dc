import { CoalescedTimer, epochMs, now } from '../../core/lib/clock.ts'
import type { Log } from '../../core/log/log.ts'

const minLogIntervalMs = 10_000

/** Knows whether lines can be written, and logs changes, though not each: a full disk may be full again in a moment. */
export class WriterHealth {
  readonly #log: Log
  readonly #onChange: (failing: boolean) => void
  readonly #logTimer = new CoalescedTimer(() => this.#logChange())
  /** Why lines cannot be written; null: they can. */
  reason: string | null = null
  since = epochMs()
  lost = 0
  #loggedFailing = false
  #loggedLost = 0
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(log: Log, onChange: (failing: boolean) => void) {
    this.#log = log
    this.#onChange = onChange
  }

  /** Notes the result of a try; null: it went well. */
  update(reason: string | null): void {
    const changed = (reason === null) !== (this.reason === null)
    this.reason = reason
    if (!changed) return
    this.since = epochMs()
    this.#onChange(reason !== null)
    this.#logChange()
  }

  /** Counts a write that takes longer than `ms` as failed, until it is done. */
  async timed(ms: number, write: Promise<number>): Promise<number> {
    const slow = new CoalescedTimer(() => this.update('a write takes too long'))
    slow.set(ms)
    try {
      return await write
    } finally {
      slow.clear()
    }
  }

  close(): void {
    this.#logTimer.clear()
  }

  #logChange(): void {
    const failing = this.reason !== null
    if (this.#loggedFailing === failing) return
    const quiet = this.#loggedAt + minLogIntervalMs - now()
    // A change that is undone in the meantime is not logged; in the end the log has the last state.
    if (quiet > 0) return this.#logTimer.set(quiet)
    this.#loggedFailing = failing
    this.#loggedAt = now()
    if (failing) return this.#log.error({ reason: this.reason }, 'audit cannot be written')
    this.#log.info({ lost: this.lost - this.#loggedLost }, 'audit is written again')
    this.#loggedLost = this.lost
  }
}

/** Formats an error for operators. Node names the system call last: that it was a write they know. */
export const errorReason = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^(E[A-Z]+: [^,]+), write$/, '$1') : String(error)
