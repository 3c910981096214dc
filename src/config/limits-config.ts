import type { Rate } from '../units.ts'

/** Describes what the gateway takes on at most. */
export interface LimitsConfig {
  /** How often one address may ask. */
  readonly address: AddressLimitConfig | null
  /** Where several gateways count together; null: each counts by itself. */
  readonly redis: RedisConfig | null
  /** Most exchanges in flight, in all. */
  readonly concurrency: number | null
  /** While the event loop is later than this, nothing new is taken on. */
  readonly eventLoopDelayMs: number | null
}

/** Describes how often one address may ask. */
export interface AddressLimitConfig {
  readonly rate: Rate
  /** How many requests at once. */
  readonly burst: number
  /** Of an IPv6 address so many leading bits are counted as one. */
  readonly ipv6Prefix: number
}

/** Describes Redis, or Valkey. */
export interface RedisConfig {
  /** May hold a password. */
  readonly url: string
  readonly timeoutMs: number
  /** What every key begins with. */
  readonly prefix: string
}
