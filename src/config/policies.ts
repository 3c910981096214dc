import type * as z from 'zod'
import type { CircuitBreakerConfig, HealthCheckConfig, OutlierConfig, RetryConfig } from './config.ts'
import type { LimitsConfig, RedisConfig } from './limits-config.ts'
import { circuitBreakerSchema } from './schema/circuit-breaker.ts'
import { healthCheckSchema } from './schema/health-check.ts'
import { merge, type Stated } from './schema/levels.ts'
import { outlierSchema } from './schema/outlier.ts'
import { retrySchema, sortCauses } from './schema/retry.ts'
import type { ParsedConfig } from './schema.ts'

type Defaults = ParsedConfig['defaults']

/** Merges what a group states with the defaults, key by key. A policy that only the group turns on has the built-in values below it. */
export const policyOf = (given: Stated<Defaults>, defaults: Defaults): Defaults => ({
  ...merge<Defaults>(given, defaults),
  healthCheck: switched(given.healthCheck, defaults.healthCheck, healthCheckSchema),
  outlier: switched(given.outlier, defaults.outlier, outlierSchema),
  circuitBreaker: switched(given.circuitBreaker, defaults.circuitBreaker, circuitBreakerSchema),
  retry: switched(given.retry, defaults.retry, retrySchema),
})

const switched = <S extends z.ZodObject>(
  stated: Stated<z.output<S>> | null | undefined,
  below: z.output<S> | null,
  schema: S,
): z.output<S> | null =>
  stated === null ? null : merge(stated, stated === undefined ? below : (below ?? schema.parse({})))

/** Writes it as the gateway takes it. */
export const healthCheck = (given: z.output<typeof healthCheckSchema>): HealthCheckConfig => {
  if (given.path === undefined) throw new TypeError('a health check without a path is refused before')
  return {
    path: given.path,
    intervalMs: given.interval,
    timeoutMs: given.timeout,
    expect: given.expect,
    healthyAfter: given.healthyAfter,
    unhealthyAfter: given.unhealthyAfter,
  }
}

/** Writes it as the gateway takes it. */
export const rateLimits = ({ address, redis }: ParsedConfig['limits']): Pick<LimitsConfig, 'address' | 'redis'> => ({
  address: address && {
    rate: address.rate,
    burst: address.burst ?? address.rate.count,
    ipv6Prefix: address.ipv6Prefix,
  },
  redis: redisOf(redis),
})

/** Writes it as the gateway takes it; null: there is none. */
export const redisOf = (given: ParsedConfig['limits']['redis']): RedisConfig | null =>
  given && { url: given.url, timeoutMs: given.timeout, prefix: given.prefix }

/** Writes it as the gateway takes it. */
export const outlier = (given: z.output<typeof outlierSchema>): OutlierConfig => ({
  consecutiveFailures: given.consecutiveFailures,
  failureRate: given.failureRate,
  ejectionTimeMs: given.ejectionTime,
  maxEjected: given.maxEjected,
})

/** Writes it as the gateway takes it. */
export const circuitBreaker = (given: z.output<typeof circuitBreakerSchema>): CircuitBreakerConfig => ({
  failureRate: given.failureRate,
  minRequests: given.minRequests,
  windowMs: given.window,
  openForMs: given.openFor,
  probes: given.probes,
})

/** Writes it as the gateway takes it. */
export const retry = ({ attempts, on, backoff, budget }: z.output<typeof retrySchema>): RetryConfig => ({
  attempts,
  on: sortCauses(on),
  backoff: { baseMs: backoff.base, maxMs: backoff.max },
  budget: { share: budget.share, floorPerSecond: budget.floor },
})
