import { now } from '../../clock.ts'

// A receiver that is gone is told of as long as it is, but not with every batch.
const onceInMs = 60_000

/** Hears what is to be said in the log. */
export type TellTrouble = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void

/** Counts spans by what became of them; it only ever grows. */
export interface SpanCounts {
  /** Taken by the receiver. */
  exported: number
  /** Never sent, because too many were waiting. */
  dropped: number
  /** Sent, and not taken. */
  failed: number
}

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
    if (this.#toldAt === null) return
    this.#tell('info', 'spans arrive again', { ...this.#untold })
    this.#untold = { dropped: 0, failed: 0 }
    this.#toldAt = null
  }

  /** `reason` is a word of ours or of Node's: nothing that a receiver says. */
  lost(how: 'dropped' | 'failed', spans: number, reason: string): void {
    this.#counts[how] += spans
    this.#untold[how] += spans
    const at = now()
    if (this.#toldAt !== null && at - this.#toldAt < onceInMs) return
    this.#toldAt = at
    this.#tell('warn', 'spans are lost', { ...this.#untold, reason })
    this.#untold = { dropped: 0, failed: 0 }
  }
}
