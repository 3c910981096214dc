import { now } from '../../lib/clock.ts'
import { ConnectionError, errorCodes } from './http2-error.ts'

/** What a frame that brings no request forward costs: what has to be answered, or undone, costs the gateway most. */
const floodCosts = {
  /** CVE-2023-44487, CVE-2025-8671: a request that is given up, or that the gateway has to reset. */
  reset: 50,
  /** CVE-2019-9512. */
  ping: 50,
  /** CVE-2019-9515. */
  settings: 50,
  /** CVE-2024-27316. */
  continuation: 50,
  /** CVE-2019-9518. */
  emptyData: 1,
  /** CVE-2019-9511: a client that reads has it refilled by the frames of DATA that it gets. */
  windowUpdate: 1,
  /** CVE-2019-9513. */
  priority: 1,
  ignored: 1,
} as const

// Of 50: 200 at once, then 33 a second.
const burst = 10_000
const refillPerMs = 1650 / 1000

/** One budget of a connection, for all frames that cost without progress: mixed, they cost as much as of one kind. */
export class FloodBudget {
  #left = burst
  #refilledAt = now()

  /** Throws {@link ConnectionError} where nothing is left. */
  take(kind: keyof typeof floodCosts): void {
    const at = now()
    this.#left = Math.min(burst, this.#left + (at - this.#refilledAt) * refillPerMs) - floodCosts[kind]
    this.#refilledAt = at
    if (this.#left >= 0) return
    const message = `too many frames that ask for nothing: the last is ${names[kind]}`
    throw new ConnectionError(errorCodes.enhanceYourCalm, message)
  }

  /** A client that reads gives back what its reading costs: a window of the stream, and one of the connection. */
  refund(dataFrames: number): void {
    this.#left = Math.min(burst, this.#left + 2 * dataFrames * floodCosts.windowUpdate)
  }
}

const names: { readonly [Kind in keyof typeof floodCosts]: string } = {
  reset: 'a request that is reset',
  ping: 'PING',
  settings: 'SETTINGS',
  continuation: 'CONTINUATION',
  emptyData: 'DATA without data',
  windowUpdate: 'WINDOW_UPDATE',
  priority: 'PRIORITY',
  ignored: 'of an unknown type',
}
