import { CoalescedTimer, now } from '../../lib/clock.ts'

// With a shorter window, a client whose network pauses for a moment, or that sends in bursts, would be taken for a slow
// one.
const windowMs = 10_000

/**
 * Monitors whether the other side keeps up a rate (as Kestrel's MinDataRate). Only the time counts for which the
 * gateway waited for it: what the gateway or an upstream holds back counts against no side. A side that has been waited
 * for ten seconds must have moved what the rate asks for in that time.
 */
export class MinRateMonitor {
  readonly bytesPerSecond: number
  readonly #unreportedBytes: number
  readonly #timer = new CoalescedTimer(() => {
    this.#timer.set(windowMs)
    this.#evaluate(this.#unreportedBytes)
  })
  #waitedMs = 0
  #waitStartedAt = 0
  /** The bytes that had moved when the window began; null: there was no wait yet. */
  #movedAtStart: number | null = null
  /** The owner of the current wait; null: the other side is not waited for. */
  #waiter: object | null = null
  #countMoved: (() => number) | null = null
  #onTooSlow: (() => void) | null = null

  /** `unreportedBytes`: so many may have moved, in the middle of a wait, without a report of it. */
  constructor(bytesPerSecond: number, unreportedBytes = 0) {
    this.bytesPerSecond = bytesPerSecond
    this.#unreportedBytes = unreportedBytes
  }

  /**
   * Waits for the other side from now on, on behalf of `waiter`: of several at once, the last. `moved` counts the bytes
   * that it has moved in all, here exactly or to within `toleranceBytes`.
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

  /** Ends the wait of `waiter`: it is the other side's turn to wait. */
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
    const requiredBytes = (this.bytesPerSecond / 1000) * waitedMs
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
