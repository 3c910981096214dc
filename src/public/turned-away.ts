import { Alarm, wallClock } from '../clock.ts'
import type { Log } from '../observe/log.ts'
import type { ConnectionBound, TurnedAwayCounts } from '../snapshot/pressure.ts'

const onceInMs = 1000

/** Tells the log of connections that were closed at once. */
export interface TurnedAway {
  /** Counts one, and tells of it: at once, or with others within a second. */
  count(): void
  /** Tells of those that were not told of yet. */
  close(): void
}

/** Begins to count connections that a setting has closed, in `counts` too. Whoever floods the listener must not flood the log as well. */
export const turnedAway = (
  log: Log,
  setting: ConnectionBound,
  counts: TurnedAwayCounts,
  more: { readonly worker?: number } = {},
): TurnedAway => {
  let untold = 0
  let waiting = false
  const tell = (): void => {
    waiting = untold > 0
    if (!waiting) return
    log.warn({ ...more, setting, connections: untold }, 'connections turned away')
    untold = 0
    alarm.set(onceInMs)
  }
  const alarm = new Alarm(tell)
  return {
    count() {
      counts[setting].count(wallClock())
      untold++
      if (!waiting) tell()
    },
    close() {
      tell()
      alarm.clear()
    },
  }
}
