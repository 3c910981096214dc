import type { OperationCacheConfig } from '../../../config/config.ts'

/** Is what the configuration says of one operation's cache. */
export interface CacheRules extends OperationCacheConfig {
  /** Which fields are credentials beside Authorization and Cookie, in lower case. */
  readonly credentials: readonly string[]
}
