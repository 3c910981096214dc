import { Alarm, now, wallClock } from '../../clock.ts'
import type { Log } from '../log.ts'

/** How long a line of the log is the last one of its kind. */
const quietMs = 10_000

/** Knows whether lines can be written, and tells the log, though not each time: a full disk may be full again in a moment. */
export class Health {
  readonly #log: Log
  readonly #onChange: (failing: boolean) => void
  readonly #later = new Alarm(() => this.#tell())
  /** Why lines cannot be written; null: they can. */
  reason: string | null = null
  /** Since when that is so, in ms since the epoch. */
  since = wallClock()
  /** How many lines were lost in all. */
  lost = 0
  #told = false
  #toldLost = 0
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(log: Log, onChange: (failing: boolean) => void) {
    this.#log = log
    this.#onChange = onChange
  }

  /** Takes what came of trying; null: it went well. */
  is(reason: string | null): void {
    const changed = (reason === null) !== (this.reason === null)
    this.reason = reason
    if (!changed) return
    this.since = wallClock()
    this.#onChange(reason !== null)
    this.#tell()
  }

  /** Has a write that takes longer than this count as one that failed, until it is done. */
  async timed(ms: number, write: Promise<number>): Promise<number> {
    const slow = new Alarm(() => this.is('a write takes too long'))
    slow.set(ms)
    try {
      return await write
    } finally {
      slow.clear()
    }
  }

  close(): void {
    this.#later.clear()
  }

  #tell(): void {
    const failing = this.reason !== null
    if (this.#told === failing) return
    const quiet = this.#toldAt + quietMs - now()
    // What turned back in the meantime is not told; in the end the log says what is.
    if (quiet > 0) return this.#later.set(quiet)
    this.#told = failing
    this.#toldAt = now()
    if (failing) return this.#log.error({ reason: this.reason }, 'audit cannot be written')
    this.#log.info({ lost: this.lost - this.#toldLost }, 'audit is written again')
    this.#toldLost = this.lost
  }
}

/** How lines are gathered, and how long is waited for what, unless a test says otherwise. */
export const usualBounds = {
  /** How long a line waits for others to be written with. */
  gatherMs: 5,
  /** Most bytes of lines that wait; what comes beyond is lost, and counted. */
  maxWaitingBytes: 16 * 1024 * 1024,
  /** How long after a write that failed the next is tried. */
  retryMs: 250,
  /** How long a write may take before it counts as one that failed. */
  slowMs: 5000,
  checkpointMs: 60_000,
}
