import { epochMs, now } from '../../clock.ts'

// A receiver that is gone is told of as long as it is, but not with every batch.
const logIntervalMs = 60_000

/** Hears what is to be said in the log. */
export type LogSpanEvent = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void

/** Counts spans by what became of them: numbers that only ever grow. */
export interface SpanCounts {
  /** Taken by the receiver. */
  exported: number
  /** Never sent, because too many were waiting. */
  dropped: number
  /** Sent, and not taken. */
  failed: number
  /** Since when they are lost, in ms since the epoch, and why; null: the last that were sent have arrived, or none were. */
  trouble: { readonly since: number; readonly reason: string } | null
}

/** Makes the counts of a process that has sent none. */
export const emptySpanCounts = (): SpanCounts => ({ exported: 0, dropped: 0, failed: 0, trouble: null })

/** Counts the spans of one receiver, beside those of others in the same counts, and tells the log of those that are lost: at once, then once a minute, and when they arrive again. */
export class SpanExportStats {
  readonly #counts: SpanCounts
  readonly #logEvent: LogSpanEvent
  #pending = { dropped: 0, failed: 0 }
  /** When it was told last; null: there is nothing to tell the end of. */
  #loggedAt: number | null = null
  /** What it says of its receiver, as far as nobody has said anything since. */
  #reported: SpanCounts['trouble'] = null
  #isRetired = false

  constructor(counts: SpanCounts, log: LogSpanEvent) {
    this.#counts = counts
    this.#logEvent = log
  }

  onExported(spans: number): void {
    this.#counts.exported += spans
    if (!this.#isRetired) this.#counts.trouble = null
    if (this.#loggedAt === null) return
    this.#logEvent('info', 'spans arrive again', { ...this.#pending })
    this.#pending = { dropped: 0, failed: 0 }
    this.#loggedAt = null
  }

  /** `reason` is a word of ours or of Node's: nothing that a receiver says. */
  onLost(how: 'dropped' | 'failed', spans: number, reason: string): void {
    this.#counts[how] += spans
    this.#pending[how] += spans
    const { trouble } = this.#counts
    // Why they are not taken says more than that there is no more room.
    if (!this.#isRetired && (trouble === null || how === 'failed')) {
      this.#reported = { since: trouble?.since ?? epochMs(), reason }
      this.#counts.trouble = this.#reported
    }
    const at = now()
    if (this.#loggedAt !== null && at - this.#loggedAt < logIntervalMs) return
    this.#loggedAt = at
    this.#logEvent('warn', 'spans are lost', { ...this.#pending, reason })
    this.#pending = { dropped: 0, failed: 0 }
  }

  /** Says no more of a receiver that is done with: what it still loses counts, and is no fault of whoever gets spans now. */
  retire(): void {
    this.#isRetired = true
    if (this.#counts.trouble === this.#reported) this.#counts.trouble = null
  }
}
