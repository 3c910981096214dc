import { Alarm, now } from '../clock.ts'

// Shorter, and a client whose network pauses for a moment, or that sends in bursts, would be taken for a slow one.
const windowMs = 10_000

/**
 * Judges whether the other side keeps up a rate, by the time for which it was waited for and nothing else: what the gateway or an upstream
 * holds back counts for nobody. Whoever has been waited for ten seconds must have moved what the rate asks for in that time.
 */
export class Pace {
  readonly #bytesPerMs: number
  readonly #unseenBytes: number
  readonly #alarm = new Alarm(() => {
    this.#alarm.set(windowMs)
    this.#judge(this.#unseenBytes)
  })
  #waitedMs = 0
  #since = 0
  /** What had moved when the window began; null: nobody was ever waited for. */
  #from: number | null = null
  /** For whose sake the other side is waited for; null: it is not. */
  #who: object | null = null
  #moved: (() => number) | null = null
  #tooSlow: (() => void) | null = null

  /** `unseenBytes`: so much may have moved, in the middle of a wait, without anybody having heard of it. */
  constructor(bytesPerSecond: number, unseenBytes = 0) {
    this.#bytesPerMs = bytesPerSecond / 1000
    this.#unseenBytes = unseenBytes
  }

  /**
   * Waits for the other side from now on, for the sake of `who`: of several at once, the last. `moved` counts the bytes that it has moved in
   * all, here exactly or to within `unsure`.
   */
  wait(who: object, moved: () => number, unsure: number, tooSlow: () => void): void {
    if (this.#who === who) return
    this.#rest()
    this.#who = who
    this.#from ??= moved()
    this.#moved = moved
    this.#tooSlow = tooSlow
    this.#since = now()
    this.#alarm.set(windowMs)
    this.#judge(unsure)
  }

  /** Judges a wait that goes on though something has moved. */
  look(): void {
    this.#judge(0)
  }

  /** Waits no longer for the sake of `who`: it is the other side's turn to wait. */
  go(who: object): void {
    if (this.#who === who) this.#rest()
  }

  #rest(): void {
    if (this.#who === null) return
    this.#waitedMs += now() - this.#since
    this.#who = null
    this.#moved = null
    this.#tooSlow = null
    this.#alarm.clear()
  }

  #judge(unsure: number): void {
    if (this.#moved === null || this.#from === null) return
    const waitedMs = this.#waitedMs + now() - this.#since
    if (waitedMs < windowMs) return
    const moved = this.#moved()
    const due = this.#bytesPerMs * waitedMs
    if (moved - this.#from >= due) {
      this.#from = moved
      this.#waitedMs = 0
      this.#since = now()
    } else if (moved - this.#from + unsure < due) {
      const tell = this.#tooSlow
      this.#rest()
      tell?.()
    }
  }
}
