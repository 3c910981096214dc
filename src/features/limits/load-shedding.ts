import type { Layer } from '../../core/exchange/exchange.ts'
import { overloadedError } from '../../core/exchange/failures/errors.ts'
import { epochMs, now } from '../../core/lib/clock.ts'
import type { LogEvent } from '../../core/log/log.ts'

/** Outermost: while the event loop lags, even rejecting adds to the lag. */
export const loadSheddingLayer =
  (loop: { readonly sheds: boolean }): Layer =>
  (next) =>
  (exchange) =>
    loop.sheds ? Promise.reject(overloadedError('event-loop')) : next(exchange)

const tickMs = 20

/** Forgives a garbage collection, not a standstill of half a second. */
const smoothedMs = 500

/** The largest delay that counts, as a multiple of the limit: any standstill is forgotten a second later. */
const maxOvershoot = 4

/** The share of the limit below which shedding ends: hysteresis, or shedding would flap. */
const recoveryShare = 0.5

const logIntervalMs = 10_000

/**
 * How overdue a timer is, smoothed: a new exchange waits that long before its handler runs. Costs one timer while there
 * is a limit. Not `monitorEventLoopDelay`: it averages over samples, so half a second without a sample weighs as much
 * as 10 ms between two, and tests cannot set its time.
 */
export class EventLoopLag {
  delayMs = 0
  sheds = false
  since = epochMs()
  readonly #logEvent: LogEvent
  /** Node's timer: those of core/lib/clock.ts, when late, let the loop turn once more. */
  #timer: NodeJS.Timeout | undefined
  #limitMs: number | null = null
  #lastAt = 0
  /** The last logged state, and its monotonic time. */
  #logged = false
  #loggedAt = Number.NEGATIVE_INFINITY

  /** `log` is called when shedding begins or ends, at most every 10 s. */
  constructor(log: LogEvent = () => {}) {
    this.#logEvent = log
  }

  /** Null stops the measurement. */
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
    // A change that has reverted is not logged.
    if (this.#logged === sheds || (limitMs !== null && now() - this.#loggedAt < logIntervalMs)) return
    this.#logged = sheds
    this.#loggedAt = now()
    const fields = { delayMs: Math.round(this.delayMs), boundMs: limitMs }
    if (sheds) this.#logEvent('warn', 'load is shed', fields)
    else this.#logEvent('info', 'load is no longer shed', fields)
  }
}
