import { type AskAll, batched } from './batch.ts'
import { isTaken, type Limit, nextInMs, type Outcome } from './bucket.ts'
import type { Limiter } from './limiter.ts'
import { MemoryLimiter } from './memory.ts'

/** Has another process count for several that serve. Where it does not answer in time, this one counts by its share. */
export const askingLimiter = (
  limit: Limit,
  askAll: AskAll<string, Outcome>,
  withinMs: number,
  share: Limiter,
): Limiter => {
  const ask = batched(askAll, withinMs)
  return { limit, take: (key) => ask(key).then((outcome) => outcome ?? share.take(key)) }
}

/** Counts in memory the share that one of several processes has of a limit, and tells of it as if it were the whole. */
export const sharedAmong = (processes: number, limit: Limit): Limiter => {
  const { policy, perMs, burst } = limit
  const share = new MemoryLimiter({ policy, perMs: perMs / processes, burst: Math.max(1, burst / processes) })
  return {
    limit,
    take(key) {
      const outcome = share.take(key)
      if (isTaken(outcome)) return outcome * processes
      // What the whole would have used that has nothing left, and the next one when the share has.
      return 1 - burst - nextInMs(outcome, share.limit) * perMs
    },
  }
}
