import { wallClock } from '../clock.ts'
import { type Counts, noCounts } from '../layers/limits.ts'
import { LoopDelay } from '../layers/load-shedding/load-shedding.ts'
import { added } from '../observe/added.ts'
import { Slots } from '../observe/refusals/causes.ts'
import type { Tell } from '../upstream/notices.ts'

/** Is how much one process has to do. There is one for all its snapshots. */
export interface Pressure {
  readonly counts: Counts
  readonly loop: LoopDelay
  readonly turnedAway: TurnedAwayCounts
}

/** Makes that of a process that has nothing to do yet; `tell` hears of load shedding. */
export const noPressure = (tell?: Tell): Pressure => ({
  counts: noCounts(),
  loop: new LoopDelay(tell),
  turnedAway: { maxConnections: new Slots(), maxConnectionsPerAddress: new Slots() },
})

/** Names a setting that closes connections at once. */
export type ConnectionBound = 'maxConnections' | 'maxConnectionsPerAddress'

/** Counts the connections of one process that were closed at once, by the setting that has it so. */
export type TurnedAwayCounts = Readonly<Record<ConnectionBound, Slots>>

/** Tells how many a setting has closed of late, as plain data. */
export interface TurnedAwayReport {
  readonly setting: ConnectionBound
  readonly lastMinute: number
  readonly lastQuarter: number
  /** When the first of the last quarter of an hour was, in ms since the epoch, to ten seconds. */
  readonly firstAt: number
}

const settings: readonly ConnectionBound[] = ['maxConnections', 'maxConnectionsPerAddress']

/** Reports on settings that have closed any in the last quarter of an hour. */
export const reportOnTurnedAway = (counts: TurnedAwayCounts): readonly TurnedAwayReport[] => {
  const at = wallClock()
  return settings.flatMap((setting): readonly TurnedAwayReport[] => {
    const slots = counts[setting]
    const firstAt = slots.firstAt(at)
    if (firstAt === null) return []
    return [{ setting, lastMinute: slots.within(at, 60_000), lastQuarter: slots.within(at, 900_000), firstAt }]
  })
}

/** Adds up what several processes have closed. */
export const mergeTurnedAway = (each: readonly TurnedAwayReport[]): readonly TurnedAwayReport[] =>
  settings.flatMap((setting): readonly TurnedAwayReport[] => {
    const same = each.filter((report) => report.setting === setting)
    const [first] = same
    if (first === undefined) return []
    return [{ ...added(first, same), firstAt: Math.min(...same.map(({ firstAt }) => firstAt)) }]
  })
