/** Is what the configuration says of one operation's cache. */
export interface CacheRules {
  /** Whether requests that carry credentials may use it. Otherwise they pass it by. */
  readonly shared: boolean
  /** Which fields are credentials beside Authorization and Cookie, in lower case. */
  readonly credentials: readonly string[]
  /** Whether an answer that does not say how long it is fresh may be held fresh for a tenth of the time since it was modified (RFC 9111 §4.2.2). */
  readonly heuristic: boolean
  /** For how long an answer that does not say so itself may be stale in place of an error (RFC 5861 §4); null: not at all. */
  readonly staleIfErrorMs: number | null
  /** For how long it may be stale while it is validated behind the client's back (RFC 5861 §3); null: not at all. */
  readonly staleWhileRevalidateMs: number | null
  /** For how long it may be stale while the upstream cannot be reached (RFC 9111 §4.2.4); 0: not at all. */
  readonly staleWhenDisconnectedMs: number
  /** Most bytes of an entry, its fields among them. */
  readonly maxEntryBytes: number
}
