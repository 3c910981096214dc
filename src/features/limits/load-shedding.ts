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

/** Ignores a garbage collection, but not a standstill of half a second. */
const smoothedMs = 500

/** The largest delay that counts, as a multiple of the limit: after any standstill, shedding ends within a second. */
const maxOvershoot = 4

/** The share of the limit below which shedding ends (hysteresis). */
const recoveryShare = 0.5

const logIntervalMs = 10_000

/**
 * Measures how late a timer fires, smoothed: a new exchange waits as long for its handler. Not `monitorEventLoopDelay`:
 * it averages over samples, so half a second without a sample weighs as much as 10 ms between two, and tests cannot set
 * its time.
 */
export const measureLoopLag = (logEvent: LogEvent = () => {}) => {
  const loop = { delayMs: 0, sheds: false, since: epochMs() }
  /** Node's timer: late timers of core/lib/clock.ts let the loop turn once more. */
  let timer: NodeJS.Timeout | undefined
  let limit: number | null = null
  let lastAt = 0
  const logged = { sheds: false, at: Number.NEGATIVE_INFINITY }

  const setShedding = (sheds: boolean, boundMs: number | null): void => {
    if (sheds !== loop.sheds) Object.assign(loop, { sheds, since: epochMs() })
    // Logs no change that has reverted, and a change at most every 10 s.
    if (logged.sheds === sheds || (boundMs !== null && now() - logged.at < logIntervalMs)) return
    Object.assign(logged, { sheds, at: now() })
    const fields = { delayMs: Math.round(loop.delayMs), boundMs }
    if (sheds) logEvent('warn', 'load is shed', fields)
    else logEvent('info', 'load is no longer shed', fields)
  }

  const tick = (): void => {
    if (limit === null) return
    const at = now()
    const passed = at - lastAt
    lastAt = at
    const late = Math.min(passed - tickMs, maxOvershoot * limit)
    loop.delayMs += (late - loop.delayMs) * (1 - Math.exp(-passed / smoothedMs))
    setShedding(loop.delayMs > limit * (loop.sheds ? recoveryShare : 1), limit)
    timer = setTimeout(tick, tickMs)
  }

  /** Null stops the measurement. */
  const setLimit = (limitMs: number | null): void => {
    const started = limit === null && limitMs !== null
    limit = limitMs
    if (limitMs === null) {
      clearTimeout(timer)
      loop.delayMs = 0
      setShedding(false, null)
    } else if (started) {
      lastAt = now()
      timer = setTimeout(tick, tickMs)
    }
  }
  return Object.assign(loop, { setLimit })
}
