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
