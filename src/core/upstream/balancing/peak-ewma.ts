import { now } from '../../lib/clock.ts'

const decayMs = 10_000
// Below it no difference counts; and the ratio of two estimates stays finite.
const floorMs = 1

/**
 * Estimates how long an endpoint takes to the head of its responses, in milliseconds: quick to believe that it is slow,
 * slow to believe that it is fast (peak EWMA, as in Finagle). A sample that is not confirmed is forgotten within 10 s
 * or so. While a request waits, silence counts as well: an endpoint that hangs must not look fast because it sends
 * nothing.
 */
export class PeakEwma {
  #estimateMs = floorMs
  #sampledAt = 0
  #isKnown = false
  #pendingCount = 0
  /** When a request first waited since the last head. It means nothing while none waits. */
  #silentSince = 0

  /** Whether a request has shown anything: without one, the estimate is the fastest that there is. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  requestSent(at: number): void {
    if (this.#pendingCount++ === 0) this.#silentSince = at
  }

  /**
   * Records that the head of a response came, `ms` after its request was given. A `failed` one may come at once,
   * because no work was done for it: it counts as the slowest response that is remembered.
   */
  headReceived(ms: number, at: number, failed = false): void {
    this.#release()
    this.#silentSince = at
    this.#addSample(ms, at, failed)
  }

  /**
   * Records a request that ended without the head of a response. It shows only that the endpoint is no faster than it
   * was silent. This must outlast the wait: an endpoint that hangs would be fast again as soon as the last waiting
   * request has given up. `failed`: by the endpoint's fault.
   */
  requestEnded(at: number = now(), failed = false): void {
    if (this.#pendingCount > 0) this.#addSample(this.#silence(at), at, failed)
    this.#release()
  }

  /** For how long, in ms, there has been no head although a request waits; 0: none waits. */
  silenceAt(at: number): number {
    return this.#pendingCount > 0 ? this.#silence(at) : 0
  }

  /** Returns the estimate; never below 1 ms. */
  at(at: number): number {
    return Math.max(this.#decayedEstimate(at), this.silenceAt(at))
  }

  #decayedEstimate(at: number): number {
    return floorMs + (this.#estimateMs - floorMs) * Math.exp(-Math.max(0, at - this.#sampledAt) / decayMs)
  }

  /**
   * Adds a sample. One above the estimate replaces it. One below pulls it down no further than the time since the last
   * sample has: a fast response must not make an endpoint look slower than it did a moment before, which an average
   * with the undecayed estimate would. A failure lets nothing be forgotten.
   */
  #addSample(ms: number, at: number, failed: boolean): void {
    if (!Number.isFinite(ms)) return // one would spoil the estimate for ever
    this.#estimateMs = Math.max(ms, failed ? this.#estimateMs : this.#decayedEstimate(at))
    this.#sampledAt = Math.max(at, this.#sampledAt)
    this.#isKnown = true
  }

  #silence(at: number): number {
    return at - this.#silentSince
  }

  #release(): void {
    this.#pendingCount = Math.max(0, this.#pendingCount - 1)
  }
}
