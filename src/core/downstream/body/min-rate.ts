import { CoalescedTimer, now } from '../../lib/clock.ts'

// A shorter window would find clients slow that send in bursts, or whose network pauses.
const windowMs = 10_000

/** As Kestrel's MinDataRate: counts only the time in which the gateway waits for the client. */
export class MinRateMonitor {
  readonly bytesPerSecond: number
  readonly #unreportedBytes: number
  readonly #timer = new CoalescedTimer(() => {
    this.#timer.set(windowMs)
    this.evaluate(this.#unreportedBytes)
  })
  #waitedMs = 0
  #waitStartedAt = 0
  /** The bytes moved when the window began; null: no wait so far. */
  #movedAtStart: number | null = null
  #waiter: object | null = null
  #countMoved: (() => number) | null = null
  #onTooSlow: (() => void) | null = null

  /** `unreportedBytes` may have moved during a wait without a report. */
  constructor(bytesPerSecond: number, unreportedBytes = 0) {
    this.bytesPerSecond = bytesPerSecond
    this.#unreportedBytes = unreportedBytes
  }

  /** The last of several waiters counts. `moved`: all bytes so far, to within `toleranceBytes`. */
  wait(waiter: object, moved: () => number, toleranceBytes: number, onTooSlow: () => void): void {
    if (this.#waiter === waiter) return
    this.#pause()
    this.#waiter = waiter
    this.#movedAtStart ??= moved()
    this.#countMoved = moved
    this.#onTooSlow = onTooSlow
    this.#waitStartedAt = now()
    this.#timer.set(windowMs)
    this.evaluate(toleranceBytes)
  }

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

  evaluate(toleranceBytes: number): void {
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
