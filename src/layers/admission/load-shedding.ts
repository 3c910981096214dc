import { CoalescedTimer, epochMs, now } from '../../clock.ts'
import type { Layer } from '../../exchange.ts'
import { overloadedError } from '../../failures/errors.ts'

/**
 * Sheds load while the event loop is late: what is behind, new exchanges would only make later, their own refusal included. Outermost, before
 * anything is counted or looked up for them.
 */
export const loadSheddingLayer =
  (loop: { readonly sheds: boolean }): Layer =>
  (next) =>
  (exchange) =>
    loop.sheds ? Promise.reject(overloadedError('event-loop')) : next(exchange)

/** Hears of load shedding, for the log. */
type LogShedding = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void

/** How often the loop is looked at. */
const tickMs = 20

/** Over what time its delay is smoothed: a pause of the garbage collector is forgiven, half a second of standstill is not. */
const smoothedMs = 500

/** How many times the bound counts as the most: however long the process stood still, a second later that is forgotten. */
const maxOvershoot = 4

/** The share of the bound under which the delay has to come before all are let in again, or it would flap. */
const recoveryShare = 0.5

/** How long a line of the log is the last one of its kind. */
const logIntervalMs = 10_000

/**
 * Measures how late the event loop is: by how much a timer is overdue, averaged over time. An exchange that arrives waits that long before
 * anybody looks at it. It costs a timer while it has a bound, and nothing else.
 *
 * A timer of its own and not `monitorEventLoopDelay`: that one averages over its samples, so that half a second in which it took none weighs as
 * much as the 10 ms between any two of them; and no test could set its time.
 */
export class EventLoopLag {
  /** The delay, smoothed, in ms. */
  delayMs = 0
  /** Whether new exchanges are refused. */
  sheds = false
  /** Since when it has been so, in ms since the epoch. */
  since = epochMs()
  readonly #logEvent: LogShedding
  readonly #alarm = new CoalescedTimer(() => this.#tick())
  #limitMs: number | null = null
  #lastAt = 0
  /** What the log says, and since when, on the monotonic clock. */
  #logged = false
  #loggedAt = Number.NEGATIVE_INFINITY

  /** `tell` hears, at most every ten seconds, that shedding has begun or ended. */
  constructor(log: LogShedding = () => {}) {
    this.#logEvent = log
  }

  /** Measures from now on, or goes on with another bound; null: it stops, and leaves no timer behind. */
  setLimit(limitMs: number | null): void {
    const started = this.#limitMs === null && limitMs !== null
    this.#limitMs = limitMs
    if (limitMs === null) {
      this.#alarm.clear()
      this.delayMs = 0
      this.#setShedding(false, null)
    } else if (started) {
      this.#lastAt = now()
      this.#alarm.set(tickMs)
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
    this.#alarm.set(tickMs)
  }

  #setShedding(sheds: boolean, limitMs: number | null): void {
    if (sheds !== this.sheds) {
      this.sheds = sheds
      this.since = epochMs()
    }
    // What turned back in the meantime is not told; in the end the log says what is.
    if (this.#logged === sheds || (limitMs !== null && now() - this.#loggedAt < logIntervalMs)) return
    this.#logged = sheds
    this.#loggedAt = now()
    const fields = { delayMs: Math.round(this.delayMs), boundMs: limitMs }
    if (sheds) this.#logEvent('warn', 'load is shed', fields)
    else this.#logEvent('info', 'load is no longer shed', fields)
  }
}
