import { now, wallClock } from '../../clock.ts'

// A receiver that is gone is told of as long as it is, but not with every batch.
const onceInMs = 60_000

/** Hears what is to be said in the log. */
export type TellTrouble = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void

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
export const noSpans = (): SpanCounts => ({ exported: 0, dropped: 0, failed: 0, trouble: null })

/** Counts the spans of one receiver, beside those of others in the same counts, and tells the log of those that are lost: at once, then once a minute, and when they arrive again. */
export class Trouble {
  readonly #counts: SpanCounts
  readonly #tell: TellTrouble
  #untold = { dropped: 0, failed: 0 }
  /** When it was told last; null: there is nothing to tell the end of. */
  #toldAt: number | null = null
  /** What it says of its receiver, as far as nobody has said anything since. */
  #said: SpanCounts['trouble'] = null
  #isOver = false

  constructor(counts: SpanCounts, tell: TellTrouble) {
    this.#counts = counts
    this.#tell = tell
  }

  arrived(spans: number): void {
    this.#counts.exported += spans
    if (!this.#isOver) this.#counts.trouble = null
    if (this.#toldAt === null) return
    this.#tell('info', 'spans arrive again', { ...this.#untold })
    this.#untold = { dropped: 0, failed: 0 }
    this.#toldAt = null
  }

  /** `reason` is a word of ours or of Node's: nothing that a receiver says. */
  lost(how: 'dropped' | 'failed', spans: number, reason: string): void {
    this.#counts[how] += spans
    this.#untold[how] += spans
    const { trouble } = this.#counts
    // Why they are not taken says more than that there is no more room.
    if (!this.#isOver && (trouble === null || how === 'failed')) {
      this.#said = { since: trouble?.since ?? wallClock(), reason }
      this.#counts.trouble = this.#said
    }
    const at = now()
    if (this.#toldAt !== null && at - this.#toldAt < onceInMs) return
    this.#toldAt = at
    this.#tell('warn', 'spans are lost', { ...this.#untold, reason })
    this.#untold = { dropped: 0, failed: 0 }
  }

  /** Says no more of a receiver that is done with: what it still loses counts, and is no fault of whoever gets spans now. */
  over(): void {
    this.#isOver = true
    if (this.#counts.trouble === this.#said) this.#counts.trouble = null
  }
}
