/** The outcome of a layer that stores responses, for log, audit, metrics and spans. */
export interface RecordedOutcome {
  readonly source: string
  readonly outcome: string
  /** The request that was processed in place of this one; null: none, or unknown. */
  readonly firstRequestId: string | null
  /** The side of the stored response; null: the client got no stored response. */
  readonly stored: 'side-of-client' | 'unknown-side' | null
  /** It says whether a change was made, so the audit log and the request counts have it. */
  readonly isAudited: boolean
}

/** `collapsed`: got the response of another exchange's fetch. */
export const zeroCacheOutcomes = { hit: 0, stale: 0, miss: 0, revalidated: 0, collapsed: 0, bypass: 0 }

export type CacheOutcome = keyof typeof zeroCacheOutcomes

export const cacheOutcomes = Object.keys(zeroCacheOutcomes) as readonly CacheOutcome[]

/**
 * `free`: certainly not processed. `abandoned`: continues without its client. `unkept`: processed before, response not
 * stored. `refused`: the key could not be stored. `unprotected`: not stored either, but forwarded.
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
