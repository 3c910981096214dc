import type { LogEvent } from '../../core/log/log-event.ts'
import { createInFlightCounters, type InFlightCounters } from './limits.ts'
import { EventLoopLag } from './load-shedding.ts'

/** All its snapshots share it. */
export interface ProcessLoad {
  readonly counts: InFlightCounters
  readonly loop: EventLoopLag
}

/** `logEvent` logs load shedding. */
export const createProcessLoad = (logEvent?: LogEvent): ProcessLoad => ({
  counts: createInFlightCounters(),
  loop: new EventLoopLag(logEvent),
})
