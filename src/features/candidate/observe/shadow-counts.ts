/**
 * Counts, all 0, of copies that were not sent, by reason. `full`: as many as may are under way. `backoff`: those before
 * it got no whole answers. `no-endpoint`: no endpoint is up that takes work. `no-room`: its body found no room.
 * `body-too-large`: its body is longer than is copied. `body-unfinished`: its body did not come to its end.
 * `credential-in-query`: its query holds a token. `stopped`: the process stops, or nothing is copied any more.
 */
export const zeroShadowDrops = {
  full: 0,
  backoff: 0,
  'no-endpoint': 0,
  'no-room': 0,
  'body-too-large': 0,
  'body-unfinished': 0,
  'credential-in-query': 0,
  stopped: 0,
}

export type ShadowDropReason = keyof typeof zeroShadowDrops

/** Counts, all 0, of answers to copies: by the class of the status, or `failed` where there is no whole answer. */
export const zeroShadowOutcomes = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, failed: 0 }

type ShadowOutcome = keyof typeof zeroShadowOutcomes

/** What became of the copies to one candidate, since the process started. */
export interface ShadowCounts {
  /** The copies that were sent. Of those that have ended, each has an outcome. */
  sent: number
  /** The pairs of answers that were handed on. */
  pairs: number
  readonly outcomes: Record<ShadowOutcome, number>
  readonly dropped: Record<ShadowDropReason, number>
}

export interface ShadowReport extends Readonly<ShadowCounts> {
  readonly underWay: number
  /** The requests that the primary was sent twice, so that its noise is learnt. */
  readonly repeated: number
}

export const createShadowCounts = (): ShadowCounts => ({
  sent: 0,
  pairs: 0,
  outcomes: { ...zeroShadowOutcomes },
  dropped: { ...zeroShadowDrops },
})

/** Classifies a whole answer by its status. Statuses that no class of RFC 9110 §15 has count as 5xx. */
export const toShadowOutcome = (status: number): ShadowOutcome =>
  status < 300 ? '2xx' : status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx'
