import { now } from '../../clock.ts'

const failuresInARow = 5
const firstPauseMs = 1000
const maxPauseMs = 10_000

/**
 * Holds copies back while a candidate gives no whole answers: each copy would open a connection for nothing. After five
 * failures in a row one copy goes out after a second, and after a pause of twice the length each time it fails, up to
 * ten seconds. A whole answer ends it.
 */
export class CopyBackoff {
  #failures = 0
  #pausedUntil = Number.NEGATIVE_INFINITY

  /** Whether a copy may go out now: while the candidate fails, one for each pause. */
  take(): boolean {
    if (this.#failures < failuresInARow) return true
    if (now() < this.#pausedUntil) return false
    this.#failures++
    this.#pause()
    return true
  }

  /** Counts the end of a copy that went out. */
  end(isWhole: boolean): void {
    if (isWhole) this.reset()
    else if (this.#failures < failuresInARow && ++this.#failures === failuresInARow) this.#pause()
  }

  /** Lets all copies out again. */
  reset(): void {
    this.#failures = 0
    this.#pausedUntil = Number.NEGATIVE_INFINITY
  }

  #pause(): void {
    this.#pausedUntil = now() + Math.min(firstPauseMs * 2 ** (this.#failures - failuresInARow), maxPauseMs)
  }
}
