import type { LimitsReport } from '../snapshot/limits-report.ts'
import { time } from './time.ts'

/** Tells how near the gateway is to the bounds of what it takes on. */
export const limitsStatus = ({ rate, concurrency, eventLoop }: LimitsReport) => ({
  rate: rate === null ? null : { ...rate, since: time(rate.since) },
  concurrency,
  eventLoop:
    eventLoop === null
      ? null
      : { ...eventLoop, delayMs: Math.round(eventLoop.delayMs * 10) / 10, since: time(eventLoop.since) },
})
