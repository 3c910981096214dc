import type { FwdReason } from './reuse.ts'

/** Is what became of a request that went forward. */
export interface Forwarded {
  readonly why: FwdReason
  /** What the upstream answered, where that is not what the client is answered; null: the same, or nothing. */
  readonly status: number | null
  readonly stored: boolean
  readonly collapsed: boolean
  /** For how long what is served is still fresh, negative when it is stale; null: it is not of the cache. */
  readonly ttlMs: number | null
}

/** Writes the member of `Cache-Status` for an answer from memory (RFC 9211 §2). As a line of its own, it is appended to the upstream's. */
export const hitStatus = (_ttlMs: number): string => {
  throw new Error('not written yet')
}

/** Writes the member for an answer that was forwarded for. */
export const forwardedStatus = (_forwarded: Forwarded): string => {
  throw new Error('not written yet')
}
