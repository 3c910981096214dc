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

/** Counts spans, and tells the log of those that are lost: at once, then once a minute, and when they arrive again. */
export class Trouble {
  readonly #counts: SpanCounts
  readonly #tell: TellTrouble
  #untold = { dropped: 0, failed: 0 }
  /** When it was told last; null: there is nothing to tell the end of. */
  #toldAt: number | null = null

  constructor(counts: SpanCounts, tell: TellTrouble) {
    this.#counts = counts
    this.#tell = tell
  }

  arrived(spans: number): void {
    this.#counts.exported += spans
    this.#counts.trouble = null
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
    if (trouble === null || how === 'failed') this.#counts.trouble = { since: trouble?.since ?? wallClock(), reason }
    const at = now()
    if (this.#toldAt !== null && at - this.#toldAt < onceInMs) return
    this.#toldAt = at
    this.#tell('warn', 'spans are lost', { ...this.#untold, reason })
    this.#untold = { dropped: 0, failed: 0 }
  }
}
