import { Alarm, now, wallClock } from '../../clock.ts'
import type { Layer } from '../../exchange.ts'
import { overloaded } from '../../failures/errors.ts'

/**
 * Sheds load while the event loop is late: what is behind, new exchanges would only make later, their own refusal included. Outermost, before
 * anything is counted or looked up for them.
 */
export const loadShedding =
  (loop: { readonly sheds: boolean }): Layer =>
  (next) =>
  (exchange) =>
    loop.sheds ? Promise.reject(overloaded('event-loop')) : next(exchange)

/** Hears of load shedding, for the log. */
type Tell = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void

/** How often the loop is looked at. */
const tickMs = 20

/** Over what time its delay is smoothed: a pause of the garbage collector is forgiven, half a second of standstill is not. */
const smoothedMs = 500

/** How many times the bound counts as the most: however long the process stood still, a second later that is forgotten. */
const most = 4

/** The share of the bound under which the delay has to come before all are let in again, or it would flap. */
const calm = 0.5

/** How long a line of the log is the last one of its kind. */
const quietMs = 10_000

/**
 * Measures how late the event loop is: by how much a timer is overdue, averaged over time. An exchange that arrives waits that long before
 * anybody looks at it. It costs a timer while it has a bound, and nothing else.
 *
 * A timer of its own and not `monitorEventLoopDelay`: that one averages over its samples, so that half a second in which it took none weighs as
 * much as the 10 ms between any two of them; and no test could set its time.
 */
export class LoopDelay {
  /** The delay, smoothed, in ms. */
  delayMs = 0
  /** Whether new exchanges are refused. */
  sheds = false
  /** Since when it has been so, in ms since the epoch. */
  since = wallClock()
  readonly #tell: Tell
  readonly #alarm = new Alarm(() => this.#tick())
  #boundMs: number | null = null
  #lastAt = 0
  /** What the log says, and since when, on the monotonic clock. */
  #told = false
  #toldAt = Number.NEGATIVE_INFINITY

  /** `tell` hears, at most every ten seconds, that shedding has begun or ended. */
  constructor(tell: Tell = () => {}) {
    this.#tell = tell
  }

  /** Measures from now on, or goes on with another bound; null: it stops, and leaves no timer behind. */
  follow(boundMs: number | null): void {
    const started = this.#boundMs === null && boundMs !== null
    this.#boundMs = boundMs
    if (boundMs === null) {
      this.#alarm.clear()
      this.delayMs = 0
      this.#turn(false, null)
    } else if (started) {
      this.#lastAt = now()
      this.#alarm.set(tickMs)
    }
  }

  #tick(): void {
    const boundMs = this.#boundMs
    if (boundMs === null) return
    const at = now()
    const passed = at - this.#lastAt
    this.#lastAt = at
    const late = Math.min(passed - tickMs, most * boundMs)
    this.delayMs += (late - this.delayMs) * (1 - Math.exp(-passed / smoothedMs))
    this.#turn(this.delayMs > boundMs * (this.sheds ? calm : 1), boundMs)
    this.#alarm.set(tickMs)
  }

  #turn(sheds: boolean, boundMs: number | null): void {
    if (sheds !== this.sheds) {
      this.sheds = sheds
      this.since = wallClock()
    }
    // What turned back in the meantime is not told; in the end the log says what is.
    if (this.#told === sheds || (boundMs !== null && now() - this.#toldAt < quietMs)) return
    this.#told = sheds
    this.#toldAt = now()
    const fields = { delayMs: Math.round(this.delayMs), boundMs }
    if (sheds) this.#tell('warn', 'load is shed', fields)
    else this.#tell('info', 'load is no longer shed', fields)
  }
}
