import { now } from '../clock.ts'

const decayMs = 10_000
// Nothing is told apart below it; and a ratio of two estimates stays finite.
const floorMs = 1

/**
 * Estimates how long an endpoint takes to the head of its answers, in milliseconds: quick to believe that it is slow, slow to believe
 * that it is fast (peak EWMA, as Finagle has it): what is not heard again is forgotten within 10 s or so. While somebody waits, silence
 * counts as well: an endpoint that hangs must not look fast because it says nothing.
 */
export class Latency {
  #estimateMs = floorMs
  #heardAt = 0
  #waiting = 0
  /** When somebody first waited since the last head. It means nothing while nobody waits. */
  #silentSince = 0

  /** Counts a request that was given to the endpoint. */
  begun(at: number): void {
    if (this.#waiting++ === 0) this.#silentSince = at
  }

  /** Takes in that the head of an answer came, `ms` after its request was given. */
  heard(ms: number, at: number): void {
    this.#leave()
    this.#silentSince = at
    this.#take(ms, at)
  }

  /**
   * Counts a request that ended without the head of an answer. It tells only that the endpoint is no faster than it was silent, which
   * must outlast the wait: one that hangs would be fast again as soon as the last of those who waited has given up.
   */
  ended(at: number = now()): void {
    if (this.#waiting > 0) this.#take(this.#silence(at), at)
    this.#leave()
  }

  /** Tells the estimate; never below 1 ms. */
  at(at: number): number {
    const remembered = this.#remembered(at)
    return this.#waiting > 0 ? Math.max(remembered, this.#silence(at)) : remembered
  }

  #remembered(at: number): number {
    return floorMs + (this.#estimateMs - floorMs) * Math.exp(-Math.max(0, at - this.#heardAt) / decayMs)
  }

  /**
   * A sample above the estimate replaces it. One below pulls it down no further than the time since the last one has: a fast answer must
   * not make an endpoint look slower than it did a moment before, which an average with the estimate as it was then would.
   */
  #take(ms: number, at: number): void {
    if (!Number.isFinite(ms)) return // one would spoil the estimate for ever
    this.#estimateMs = Math.max(ms, this.#remembered(at))
    this.#heardAt = Math.max(at, this.#heardAt)
  }

  #silence(at: number): number {
    return at - this.#silentSince
  }

  #leave(): void {
    this.#waiting = Math.max(0, this.#waiting - 1)
  }
}
