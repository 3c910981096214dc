/** What became of requests at the two sides, as processes report it. */
import type { GuardReport } from '../../../../../src/features/candidate/observe/guard/guard-counts.ts'
import {
  failureCode,
  guardKeyBase,
  respondedCode,
  waitedCode,
} from '../../../../../src/features/candidate/observe/guard/guard-key.ts'
import type { OperationId, Side } from '../../../../../src/operations.ts'

/** Requests of one client, or of all of the primary's. */
export interface SideEvents {
  readonly side?: Side
  readonly operation?: OperationId
  readonly client?: number
  readonly failed?: number
  readonly rejected?: number
  readonly late?: number
  /** So many heads in 20 ms each. */
  readonly responded?: number
  /** So many heads in so many milliseconds each. */
  readonly slow?: readonly [count: number, ms: number]
  readonly waiting?: readonly [count: number, ms: number]
}

/** Makes the report of what became of requests of `market.insights`, unless they are for another operation. */
export const reportOf = (all: readonly SideEvents[], era = 'era'): GuardReport => {
  const [counts, waiting]: [number[], number[]] = [[], []]
  for (const { side = 'candidate', operation = 'market.insights', client = 0, ...events } of all) {
    const base = guardKeyBase(operation, side, side === 'candidate' ? client : 0)
    const add = (list: number[], code: number, count: number | undefined): void => {
      if (count !== undefined && count > 0) list.push(base + code, count)
    }
    add(counts, failureCode('failed'), events.failed)
    add(counts, failureCode('rejected'), events.rejected)
    add(counts, failureCode('late'), events.late)
    add(counts, respondedCode(20), events.responded)
    if (events.slow !== undefined) add(counts, respondedCode(events.slow[1]), events.slow[0])
    if (events.waiting !== undefined) add(waiting, waitedCode(events.waiting[1]), events.waiting[0])
  }
  return { group: 'market', era, counts, waiting }
}
