import { formatDuration, formatSize } from '../units.ts'
import type { CacheConfig, OperationCacheConfig } from './cache-config.ts'
import { redisAt } from './effective-policies.ts'
import type { Effective } from './shown.ts'

/** Writes what is stored of all operations, in the spelling of the file. */
export const stored = ({ maxBytes, credentials, redis }: CacheConfig): Effective => ({
  maxBytes: formatSize(maxBytes),
  credentials,
  redis: redisAt(redis),
})

/** Writes how an operation is cached, in the spelling of the file. */
export const operationCache = (cache: OperationCacheConfig | null): Effective =>
  cache === null ? false : cachePolicy(cache)

/** Writes how the answers of an operation are stored and used, in the spelling of the file. */
export const cachePolicy = (cache: OperationCacheConfig): { readonly [key: string]: Effective } => ({
  maxEntry: formatSize(cache.maxEntryBytes),
  shared: cache.shared,
  heuristic: cache.heuristic,
  staleIfError: optional(cache.staleIfErrorMs),
  staleWhileRevalidate: optional(cache.staleWhileRevalidateMs),
  staleWhenDisconnected: optional(cache.staleWhenDisconnectedMs),
})

const optional = (ms: number | null): string => (ms === null || ms === 0 ? 'none' : formatDuration(ms))
