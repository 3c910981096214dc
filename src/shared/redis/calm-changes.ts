import { unrefTimeout } from '../../clock.ts'
import type { OnSharedChange } from './redis-registry.ts'

const perMs = 60_000

// An outage and its end, twice. A Redis that comes and goes changes several times a second.
const maxLines = 4

/** Logs whether Redis is in use. `fields`: the reason, where it is not, and `changes`, where some were not logged. */
type LogSharedState = (isShared: boolean, fields: Readonly<Record<string, unknown>>) => void

/**
 * Has changes logged as they come, but of a Redis that comes and goes once a minute how it stands then: after
 * {@link maxLines} in a minute, until a minute is quiet.
 */
export const calmChanges = (log: LogSharedState): OnSharedChange => {
  let linesLeft = maxLines
  let hasTimer = false
  let changes = 0
  let last: Parameters<OnSharedChange> = [true, null]

  const logLast = (more: { readonly changes?: number }): void => {
    const [isShared, reason] = last
    log(isShared, { ...(isShared ? {} : { reason }), ...more })
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
