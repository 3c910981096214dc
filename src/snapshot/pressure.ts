import { type Counts, noCounts } from '../layers/concurrency.ts'
import { LoopDelay } from '../layers/load-shedding/loop-delay.ts'
import type { Tell } from '../upstream/notices.ts'
import { noneTurnedAway, type TurnedAwayCounts } from './turned-away.ts'

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
  turnedAway: noneTurnedAway(),
})
