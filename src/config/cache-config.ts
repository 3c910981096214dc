import type { RedisConfig } from './limits-config.ts'

/** Describes what answers of all operations that are cached share. */
export interface CacheConfig {
  /** Most memory of what is stored, of all operations and all workers together. */
  readonly maxBytes: number
  /** Names in lower case of the fields in which clients send credentials, beside those that HTTP knows. */
  readonly credentials: readonly string[]
  /** Where several gateways find what one of them has stored; null: each has its own. */
  readonly redis: RedisConfig | null
}

/** Describes how answers of one operation are cached (RFC 9111). */
export interface OperationCacheConfig {
  /** A longer answer is passed on, and not stored. */
  readonly maxEntryBytes: number
  /** Whether requests that carry credentials may be answered from what is stored, as far as the answer allows it (§3.5). */
  readonly shared: boolean
  /** Whether an answer that says nothing of its own freshness has some (§4.2.2). */
  readonly heuristic: boolean
  /** How long after its freshness an answer may stand in for a failure (RFC 5861 §4); null: as long as the answer says. */
  readonly staleIfErrorMs: number | null
  /** How long after its freshness an answer is served while a newer one is fetched (RFC 5861 §3); null: as long as the answer says. */
  readonly staleWhileRevalidateMs: number | null
  /** How long after its freshness an answer is served while the upstream cannot be reached (§4.2.4). 0: not at all. */
  readonly staleWhenDisconnectedMs: number
}
