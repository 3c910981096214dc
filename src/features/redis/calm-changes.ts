import { unrefTimeout } from '../../core/lib/clock.ts'
import type { LogEvent } from '../../core/log/log-event.ts'
import type { OnSharedChange } from './redis-registry.ts'

const perMs = 60_000

// An outage and its end, twice. A Redis that comes and goes changes several times a second.
const maxLines = 4

/**
 * Logs changes as they come, but of a Redis that comes and goes once a minute how it stands then: after
 * {@link maxLines} in a minute, until a minute is quiet. The fields are the reason, where Redis is not available, and
 * `changes`, where some were not logged.
 */
export const calmChanges = (logEvent: LogEvent, available: string, unavailable: string): OnSharedChange => {
  let linesLeft = maxLines
  let hasTimer = false
  let changes = 0
  let last: Parameters<OnSharedChange> = [true, null]

  const logLast = (more: { readonly changes?: number }): void => {
    const [isShared, reason] = last
    if (isShared) logEvent('info', available, more)
    else logEvent('warn', unavailable, { reason, ...more })
  }

  const startMinute = (lines: number): void => {
    linesLeft = lines
    hasTimer = true
    unrefTimeout(perMs, () => {
      hasTimer = false
      if (changes === 0) return
      logLast({ changes })
      changes = 0
      startMinute(0)
    })
  }

  return (...change) => {
    last = change
    if (!hasTimer) startMinute(maxLines)
    if (linesLeft === 0) {
      changes++
      return
    }
    linesLeft--
    logLast({})
  }
}
