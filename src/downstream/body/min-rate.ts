import { CoalescedTimer, now } from '../../clock.ts'

// Shorter, and a client whose network pauses for a moment, or that sends in bursts, would be taken for a slow one.
const windowMs = 10_000

/**
 * Judges whether the other side keeps up a rate, by the time for which it was waited for and nothing else: what the gateway or an upstream
 * holds back counts for nobody. Whoever has been waited for ten seconds must have moved what the rate asks for in that time.
 */
export class MinRateMonitor {
  readonly #bytesPerMs: number
  readonly #unreportedBytes: number
  readonly #timer = new CoalescedTimer(() => {
    this.#timer.set(windowMs)
    this.#evaluate(this.#unreportedBytes)
  })
  #waitedMs = 0
  #waitStartedAt = 0
  /** What had moved when the window began; null: nobody was ever waited for. */
  #movedAtStart: number | null = null
  /** For whose sake the other side is waited for; null: it is not. */
  #waiter: object | null = null
  #countMoved: (() => number) | null = null
  #onTooSlow: (() => void) | null = null

  /** `unreportedBytes`: so much may have moved, in the middle of a wait, without anybody having heard of it. */
  constructor(bytesPerSecond: number, unreportedBytes = 0) {
    this.#bytesPerMs = bytesPerSecond / 1000
    this.#unreportedBytes = unreportedBytes
  }

  /**
   * Waits for the other side from now on, for the sake of `who`: of several at once, the last. `moved` counts the bytes that it has moved in
   * all, here exactly or to within `unsure`.
   */
  wait(waiter: object, moved: () => number, toleranceBytes: number, onTooSlow: () => void): void {
    if (this.#waiter === waiter) return
    this.#pause()
    this.#waiter = waiter
    this.#movedAtStart ??= moved()
    this.#countMoved = moved
    this.#onTooSlow = onTooSlow
    this.#waitStartedAt = now()
    this.#timer.set(windowMs)
    this.#evaluate(toleranceBytes)
  }

  /** Judges a wait that goes on though something has moved. */
  check(): void {
    this.#evaluate(0)
  }

  /** Waits no longer for the sake of `who`: it is the other side's turn to wait. */
  stop(waiter: object): void {
    if (this.#waiter === waiter) this.#pause()
  }

  #pause(): void {
    if (this.#waiter === null) return
    this.#waitedMs += now() - this.#waitStartedAt
    this.#waiter = null
    this.#countMoved = null
    this.#onTooSlow = null
    this.#timer.clear()
  }

  #evaluate(toleranceBytes: number): void {
    if (this.#countMoved === null || this.#movedAtStart === null) return
    const waitedMs = this.#waitedMs + now() - this.#waitStartedAt
    if (waitedMs < windowMs) return
    const moved = this.#countMoved()
    const requiredBytes = this.#bytesPerMs * waitedMs
    if (moved - this.#movedAtStart >= requiredBytes) {
      this.#movedAtStart = moved
      this.#waitedMs = 0
      this.#waitStartedAt = now()
    } else if (moved - this.#movedAtStart + toleranceBytes < requiredBytes) {
      const onTooSlow = this.#onTooSlow
      this.#pause()
      onTooSlow?.()
    }
  }
}
