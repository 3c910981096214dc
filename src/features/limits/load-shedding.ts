import type { Layer } from '../../core/exchange/exchange.ts'
import { overloadedError } from '../../core/exchange/failures/errors.ts'
import { epochMs, now } from '../../core/lib/clock.ts'
import type { LogEvent } from '../../core/log/log.ts'

/**
 * Sheds load while the event loop lags: new exchanges, and even their rejection, would add to the lag. It is the
 * outermost layer, before anything is counted or looked up for an exchange.
 */
export const loadSheddingLayer =
  (loop: { readonly sheds: boolean }): Layer =>
  (next) =>
  (exchange) =>
    loop.sheds ? Promise.reject(overloadedError('event-loop')) : next(exchange)

const tickMs = 20

/**
 * The period over which the delay is smoothed: it forgives a pause of the garbage collector, and not half a second of
 * standstill.
 */
const smoothedMs = 500

/**
 * The largest delay that counts, as a multiple of the limit. However long the process stood still, a second later that
 * is forgotten.
 */
const maxOvershoot = 4

/** The share of the limit below which the delay must fall before shedding ends. Without it, shedding would flap. */
const recoveryShare = 0.5

const logIntervalMs = 10_000

/**
 * Measures the lag of the event loop: by how much a timer is overdue, averaged over time. An exchange that arrives
 * waits that long before its handler runs. The measurement costs one timer while there is a limit, and nothing
 * otherwise.
 *
 * The class has a timer of its own and does not use `monitorEventLoopDelay`. That averages over its samples, so half a
 * second without a sample weighs as much as the 10 ms between any two; and no test could set its time.
 */
export class EventLoopLag {
  delayMs = 0
  sheds = false
  since = epochMs()
  readonly #logEvent: LogEvent
  /** One of Node's: those of core/lib/clock.ts let the loop turn once more when they are late. */
  #timer: NodeJS.Timeout | undefined
  #limitMs: number | null = null
  #lastAt = 0
  /** The state that the log shows, and the monotonic time of that line. */
  #logged = false
  #loggedAt = Number.NEGATIVE_INFINITY

  /** `log` is called when shedding begins or ends, at most every ten seconds. */
  constructor(log: LogEvent = () => {}) {
    this.#logEvent = log
  }

  /** Starts to measure, or goes on with a new limit. Null stops the measurement and leaves no timer behind. */
  setLimit(limitMs: number | null): void {
    const started = this.#limitMs === null && limitMs !== null
    this.#limitMs = limitMs
    if (limitMs === null) {
      clearTimeout(this.#timer)
      this.delayMs = 0
      this.#setShedding(false, null)
    } else if (started) {
      this.#lastAt = now()
      this.#timer = setTimeout(() => this.#tick(), tickMs)
    }
  }

  #tick(): void {
    const limitMs = this.#limitMs
    if (limitMs === null) return
    const at = now()
    const passed = at - this.#lastAt
    this.#lastAt = at
    const late = Math.min(passed - tickMs, maxOvershoot * limitMs)
    this.delayMs += (late - this.delayMs) * (1 - Math.exp(-passed / smoothedMs))
    this.#setShedding(this.delayMs > limitMs * (this.sheds ? recoveryShare : 1), limitMs)
    this.#timer = setTimeout(() => this.#tick(), tickMs)
  }

  #setShedding(sheds: boolean, limitMs: number | null): void {
    if (sheds !== this.sheds) {
      this.sheds = sheds
      this.since = epochMs()
    }
    // A change that has reverted in the meantime is not logged; the log shows the state that lasts.
    if (this.#logged === sheds || (limitMs !== null && now() - this.#loggedAt < logIntervalMs)) return
    this.#logged = sheds
    this.#loggedAt = now()
    const fields = { delayMs: Math.round(this.delayMs), boundMs: limitMs }
    if (sheds) this.#logEvent('warn', 'load is shed', fields)
    else this.#logEvent('info', 'load is no longer shed', fields)
  }
}
