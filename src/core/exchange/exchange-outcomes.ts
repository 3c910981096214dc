/** What a layer that stores responses did for an exchange. The log, the audit, the metrics and the spans read it. */
export interface RecordedOutcome {
  /** The layer, by the name that its member in the log has. */
  readonly source: string
  readonly outcome: string
  /** The request that was processed in place of this one; null: none, or it is not known. */
  readonly firstRequestId: string | null
  /** The side whose response was stored before; null: no upstream's response to another request went out. */
  readonly stored: 'side-of-client' | 'unknown-side' | null
  /** Whether it belongs in the audit log and the counts of requests: it says whether a change was made. */
  readonly isAudited: boolean
}

/**
 * Counts, all 0, by what an operation's cache did. `collapsed`: the response of a fetch that another exchange had
 * begun.
 */
export const zeroCacheOutcomes = { hit: 0, stale: 0, miss: 0, revalidated: 0, collapsed: 0, bypass: 0 }

export type CacheOutcome = keyof typeof zeroCacheOutcomes

export const cacheOutcomes = Object.keys(zeroCacheOutcomes) as readonly CacheOutcome[]

/**
 * Counts, all 0, by what became of a request with a key of idempotency. `processed`: it was the first. `free`: it was
 * the first, and certainly not processed. `abandoned`: it was the first, and goes on without its client. `unkept`: it
 * was processed before, and the response is not there. `refused`: it could not be remembered. `unprotected`: it could
 * not, and was forwarded all the same.
 */
export const zeroIdempotencyOutcomes = {
  processed: 0,
  free: 0,
  unknown: 0,
  abandoned: 0,
  replayed: 0,
  'in-progress': 0,
  'outcome-unknown': 0,
  unkept: 0,
  reused: 0,
  refused: 0,
  unprotected: 0,
}

export type IdempotencyOutcome = keyof typeof zeroIdempotencyOutcomes
