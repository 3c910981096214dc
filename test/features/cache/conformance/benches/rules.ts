import { durations, sizes } from '../../../../../src/core/lib/text/units.ts'
import type { CacheRules } from '../../../../../src/features/cache/policy/cache-request.ts'
import type { CacheSettings } from '../row.ts'

/** Reads the cache rules of a row, as the configuration does. */
export const toCacheRules = (settings: CacheSettings = true): CacheRules => {
  const given: Readonly<Record<string, unknown>> = settings === true ? {} : settings
  const duration = (key: string): number | null | undefined => {
    const value = given[key]
    return value === undefined ? undefined : value === 'none' ? null : durations.parse(String(value))
  }
  return {
    shared: given.shared === true,
    credentials: ['x-api-key'],
    heuristic: given.heuristic === true,
    ttl: null,
    staleIfError: duration('staleIfError') ?? null,
    staleWhileRevalidate: duration('staleWhileRevalidate') ?? null,
    staleWhenDisconnected: given.staleWhenDisconnected === 'none' ? 0 : (duration('staleWhenDisconnected') ?? 60_000),
    maxEntry: given.maxEntry === undefined ? 1024 ** 2 : (sizes.parse(String(given.maxEntry)) ?? 0),
  }
}
